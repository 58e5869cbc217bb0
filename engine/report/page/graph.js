// The dataflow graph of a program as a picture. Formulas that feed each other are
// one box, what is only reported is one, evaluations and loops are boxes that
// list what is in them.

const GRAPH_KINDS = {
  data: "data", model: "model call", update: "update", hook: "hook (Lua)", formula: "formula",
  look: "evaluation, report", other: "other",
};

class GraphModel {
  // text: of the program, whose lines name loops and evaluations.
  constructor(graph, text) {
    this.graph = graph;
    this.lines = text.split("\n");
    this.byId = new Map(graph.nodes.map((n) => [n.id, n]));
    this.value = new Map(graph.values.map((v) => [v.id, v]));
    this.kindOf = new Map(graph.resources.map((r) => [r.name, r.kind]));
    this.maker = new Map(); // a value's node
    for (const n of graph.nodes) for (const v of n.outputs) this.maker.set(v, n);
    this.boxes = [];
    this.boxOf = new Map(); // a node's box
    this.edges = new Map();
    this.makeBoxes();
    this.makeEdges();
  }

  inRegion(region) {
    return this.graph.nodes.filter((n) => n.region === region);
  }

  kind(n) {
    if (n.class === "update") return "update";
    if (n.class === "draw") return "data";
    const of = n.on && this.kindOf.get(n.on);
    if (of === "model") return "model";
    if (of === "hook") return "hook";
    if (of === "data") return "data";
    return n.class === "expr" ? "formula" : n.looking ? "look" : "other";
  }

  // "actor.generate"; hooks and data by their names.
  name(n) {
    if (n.class === "draw" && n.on) return n.on;
    if (this.kind(n) === "hook") return n.on;
    return (n.on ? n.on + "." : "") + n.class;
  }

  // Names of what it makes, without those that nobody gave.
  made(n) {
    return [...new Set(n.outputs.map((v) => this.value.get(v)?.name)
      .filter((name) => name && name !== "it" && name !== "ok"))];
  }

  // A recorded column or length of a set is no work of its own.
  isAlias(n) {
    return !n.on && n.inputs.length === 1 && !n.regions.length && n.class !== "expr" && n.class !== "report" &&
      n.class !== "update";
  }

  box(kind, title, lines, nodes) {
    const box = { kind, title, lines, nodes, number: this.boxes.length };
    this.boxes.push(box);
    for (const n of nodes) this.boxOf.set(n.id, box);
    return box;
  }

  inside(n) {
    const out = [];
    for (const r of n.regions) {
      for (const inner of this.inRegion(r)) {
        out.push(inner);
        out.push(...this.inside(inner));
      }
    }
    return out;
  }

  makeBoxes() {
    const top = this.inRegion(0);
    const reported = [];
    for (const n of top) {
      if (n.class === "step" || this.isAlias(n)) continue;
      if (n.regions.length) this.boxOfRegions(n);
      else if (n.looking && (n.class === "expr" || n.class === "report")) reported.push(n);
      else if (n.class === "expr") this.boxOfFormula(n);
      else this.box(this.kind(n), this.name(n), this.made(n).map((x) => "→ " + x), [n]);
    }
    if (reported.some((n) => n.class === "report")) this.box("look", "report", [], reported);
  }

  // "every 5 steps": the line of the program, if it is of that.
  heading(n) {
    const word = { split: "for" }[n.class] || n.class;
    const line = (this.lines[n.line - 1] || "").slice(n.column - 1).replace(/[{#].*/, "").trim();
    const is = line.startsWith(word + " ") && line.length < 40;
    return is ? line : n.class === "split" ? "for each part" : n.class;
  }

  boxOfRegions(n) {
    const inner = this.inside(n);
    const lines = inner.filter((x) => x.class !== "expr" && x.class !== "step" && x.class !== "report" && !this.isAlias(x))
      .map((x) => this.name(x));
    const reports = inner.some((x) => x.class === "report");
    this.box(n.looking ? "look" : lines.some((l) => l.endsWith(".update")) ? "update" : "other", this.heading(n),
      [...new Set(lines)].concat(reports ? ["report"] : []), [n, ...inner]);
  }

  // With the formulas that it reads, unless they are read by others too.
  boxOfFormula(n) {
    const names = this.made(n);
    const scalar = n.outputs.every((v) => this.value.get(v)?.on === "scalar");
    if (scalar && !names.length) return; // such as a learning rate of the step
    for (const v of n.inputs) {
      const from = this.maker.get(v);
      const box = from && this.boxOf.get(from.id);
      if (box && box.kind === "formula" && box.nodes.length < 6) {
        box.nodes.push(n);
        box.lines = [...new Set(box.lines.concat(names))];
        this.boxOf.set(n.id, box);
        return;
      }
    }
    this.box("formula", "formula", names, [n]);
  }

  // The box that a value comes from, through what is no box itself.
  source(v, depth = 0) {
    const n = this.maker.get(v);
    if (!n || depth > 20) return null;
    const box = this.boxOf.get(n.id);
    if (box) return { box, value: v };
    for (const input of n.inputs) {
      const from = this.source(input, depth + 1);
      if (from) return { box: from.box, value: this.isAlias(n) ? v : from.value };
    }
    return null;
  }

  makeEdges() {
    for (const box of this.boxes) {
      for (const n of box.nodes) {
        for (const v of n.inputs) {
          const from = this.source(v);
          if (!from || from.box === box || from.box.number > box.number) continue;
          const key = from.box.number + ">" + box.number;
          const edge = this.edges.get(key) || { from: from.box, to: box, types: new Set() };
          const value = this.value.get(from.value);
          if (value) edge.types.add(`${value.name || "a value"}: ${value.kind === "set" ? "a set" : value.on}`);
          this.edges.set(key, edge);
        }
      }
    }
  }
}

// ---- layers ----

function layOut(model) {
  const boxes = model.boxes;
  const edges = [...model.edges.values()];
  for (const box of boxes) {
    box.layer = 0;
    const text = [box.title, ...box.lines];
    box.width = Math.max(84, Math.max(...text.map((t) => 7.3 * plain(t).length)) + 24);
    box.height = 30 + 16 * box.lines.length + (box.lines.length ? 6 : 0);
  }
  for (let i = 0; i < boxes.length; i++) { // boxes stand behind what they read
    for (const e of edges) e.to.layer = Math.max(e.to.layer, e.from.layer + 1);
  }
  const last = Math.max(0, ...boxes.map((b) => b.layer));
  for (const box of boxes) { // evaluations that read nothing stand at the end
    const alone = !edges.some((e) => e.to === box || e.from === box);
    box.alone = alone;
    if (alone) box.layer = last;
  }
  const layers = Array.from({ length: last + 1 }, () => []);
  for (const box of boxes) layers[box.layer].push(box);
  const routes = edges.map((e) => {
    const points = [e.from];
    for (let k = e.from.layer + 1; k < e.to.layer; k++) {
      const bend = { width: 0, height: 10, layer: k, bend: true };
      layers[k].push(bend);
      points.push(bend);
    }
    points.push(e.to);
    return { ...e, points };
  });
  order(layers, routes);
  place(layers);
  return { layers, routes };
}

// Each box near the middle of its neighbours.
function order(layers, routes) {
  const beside = new Map();
  for (const route of routes) {
    for (let k = 1; k < route.points.length; k++) {
      const [a, b] = [route.points[k - 1], route.points[k]];
      if (!beside.has(a)) beside.set(a, { before: [], after: [] });
      if (!beside.has(b)) beside.set(b, { before: [], after: [] });
      beside.get(a).after.push(b);
      beside.get(b).before.push(a);
    }
  }
  const number = () => layers.forEach((layer) => layer.forEach((box, i) => { box.at = i - (layer.length - 1) / 2; }));
  number();
  for (let sweep = 0; sweep < 12; sweep++) {
    const side = sweep % 2 ? "after" : "before";
    const turn = sweep % 2 ? [...layers].reverse() : layers;
    for (const layer of turn) {
      for (const box of layer) {
        const near = beside.get(box)?.[side] || [];
        box.want = box.alone ? 1e6 : near.length ? near.reduce((sum, b) => sum + b.at, 0) / near.length : box.at;
      }
      layer.sort((a, b) => a.want - b.want);
      layer.forEach((box, i) => { box.at = i - (layer.length - 1) / 2; });
    }
  }
}

function place(layers) {
  const between = 26;
  const tall = Math.max(...layers.map((layer) => layer.reduce((sum, b) => sum + b.height + between, -between)));
  let x = 12;
  for (const layer of layers) {
    const width = Math.max(...layer.map((b) => b.width), 40);
    const height = layer.reduce((sum, b) => sum + b.height + between, -between);
    let y = 12 + (tall - height) / 2;
    for (const box of layer) {
      box.x = x + (width - box.width) / 2;
      box.left = x;
      box.right = x + width;
      box.y = y;
      y += box.height + between;
    }
    layer.x = x;
    layer.width = width;
    x += width + 76;
  }
  layers.size = [x - 64, tall + 24];
}

// ---- the picture ----

function routePath(route) {
  const points = [];
  route.points.forEach((p, k) => {
    const y = p.y + p.height / 2;
    if (p.bend) points.push([p.left, y], [p.right, y]); // straight past the boxes of its layer
    else points.push(k ? [p.x, y] : [p.x + p.width, y]);
  });
  let d = `M${points[0][0]} ${points[0][1]}`;
  for (let k = 1; k < points.length; k++) {
    const [x0, y0] = points[k - 1];
    const [x1, y1] = points[k];
    const bow = (x1 - x0) / 2;
    d += `C${x0 + bow} ${y0} ${x1 - bow} ${y1} ${x1} ${y1}`;
  }
  return d;
}

function drawBox(box, pick) {
  const lines = box.nodes.map((n) => n.line).filter(Boolean);
  const group = s("g", {
    class: "box " + box.kind, transform: `translate(${box.x} ${box.y})`, tabindex: lines.length ? 0 : undefined,
    role: lines.length ? "button" : undefined, "aria-label": plain([box.title, ...box.lines].join(" ")),
    onclick: () => lines.length && pick(lines[0]),
    onkeydown: (e) => e.key === "Enter" && lines.length && pick(lines[0]),
  }, s("rect", { width: box.width, height: box.height, rx: box.kind === "formula" ? 15 : 6 }),
  s("text", { class: "title", x: box.width / 2, y: 20, "text-anchor": "middle", text: plain(box.title) }));
  box.lines.forEach((line, i) => group.append(s("text", {
    x: box.width / 2, y: 38 + 16 * i, "text-anchor": "middle", text: plain(line),
  })));
  return group;
}

// pick(line): of the program, whose text is given.
function graphPicture(graph, text, pick) {
  const model = new GraphModel(graph, text);
  if (!model.boxes.length) return null;
  const { layers, routes } = layOut(model);
  const [width, height] = layers.size;
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, class: "graph", role: "group",
    "aria-label": "The dataflow graph of " + plain(graph.flow || "the program"),
  }, s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0 0L8 4L0 8z" }))));
  for (const route of routes) {
    const d = routePath(route);
    const what = s("title", { text: plain([...route.types].join("\n")) });
    svg.append(s("g", { class: "edge" }, s("path", { d, "marker-end": "url(#arrow)" }), s("path", { class: "wide", d }, what)));
  }
  for (const box of model.boxes) svg.append(drawBox(box, pick));
  const kinds = [...new Set(model.boxes.map((b) => b.kind))];
  return h("figure", { class: "wide graph" },
    h("div", { class: "legend" }, kinds.map((kind) => h("span", {}, h("i", { class: "box " + kind }), GRAPH_KINDS[kind]))),
    h("div", { class: "scroll" }, svg));
}
