// What ranks did with the time of a step: a bar for each, or where there are
// many their outline, with the busiest and the idlest.

const PARTS = ["generate", "read", "train", "lua", "move", "rest", "wait"];
const PART_WORDS = {
  generate: "generate", read: "read (log-probabilities, values, scores)", train: "train", lua: "Lua",
  move: "move (rows and weights between ranks)", rest: "rest", wait: "wait",
};
const BARS = 32; // ranks that all have a bar; of more, those at both ends
const AT_ENDS = 8;

function partColor(part) {
  return `var(--part-${part})`;
}

function hasOwn(run) {
  return Boolean(run.ranks && run.ranks.column.has("seconds.wait"));
}

// Seconds of each rank, by part, in bins from..to: the means of those that it
// has; a rank that has none is left out.
function ownOf(run, from, to) {
  const { n, column } = run.ranks;
  const out = [];
  for (let rank = 0; rank < n; rank++) {
    const parts = PARTS.map((part) => {
      const value = column.get("seconds." + part);
      let sum = 0, count = 0;
      for (let i = from; value && i <= to; i++) {
        const x = value[i * n + rank];
        if (Number.isNaN(x)) continue;
        sum += x;
        count++;
      }
      return count ? sum / count : value ? NaN : 0;
    });
    const all = parts.reduce((a, b) => a + b, 0);
    if (all >= 0) out.push({ rank, parts, all, busy: all - parts[PARTS.length - 1] });
  }
  return out;
}

function meanOf(list) {
  return PARTS.map((_, i) => list.reduce((sum, r) => sum + r.parts[i], 0) / Math.max(1, list.length));
}

function median(sorted) {
  const k = sorted.length >> 1;
  return sorted.length % 2 ? sorted[k] : (sorted[k - 1] + sorted[k]) / 2;
}

// "generate 0.3 s, wait 1 s", without what is next to nothing.
function partsText(parts) {
  const all = parts.reduce((a, b) => a + b, 0);
  return PARTS.filter((_, i) => parts[i] > 0.001 * all).map((part) => `${part} ${seconds(parts[PARTS.indexOf(part)])}`).join(", ");
}

function percent(x) {
  return number(100 * x, x < 0.1 ? 2 : 3) + " %";
}

// One bar of parts, in percent of `whole` seconds.
function partsBar(parts, whole, text) {
  const least = pictureWidth() < 600 ? 0.14 : 0.07; // for a number in it
  return h("div", { class: "bar", role: "img", "aria-label": text }, parts.map((x, i) => x > 0 ? h("span", {
    class: PARTS[i], style: { width: 100 * x / whole + "%", background: partColor(PARTS[i]) },
    title: `${PART_WORDS[PARTS[i]]}: ${seconds(x)}, ${percent(x / whole)}`,
    text: x / whole > least ? Math.round(100 * x / whole) + " %" : "",
  }) : null));
}

function rankBar(row, whole) {
  return h("div", { class: "total rank" }, h("span", { class: "name", text: "rank " + row.rank }),
    partsBar(row.parts, whole, `rank ${row.rank}: ${partsText(row.parts)}`),
    h("span", { class: "sum", text: `busy ${Math.round(100 * row.busy / row.all)} %` }));
}

// Units of a picture's width: letters keep their size on a narrow screen.
function pictureWidth() {
  return document.documentElement.clientWidth < 760 ? 440 : 900;
}

// All ranks side by side in the order of the list: a column each.
function outline(list, whole, label) {
  const width = pictureWidth(), height = 190, left = 54, top = 8, bottom = 166;
  const one = (width - left) / list.length;
  const y = (x) => bottom - x / whole * (bottom - top);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "bars outline", role: "img", "aria-label": label });
  const below = new Float64Array(list.length);
  PARTS.forEach((part, i) => {
    let path = "";
    list.forEach((row, k) => {
      const x = row.parts[i];
      if (!(x > 0)) return;
      const from = left + k * one;
      path += `M${from.toFixed(2)} ${y(below[k]).toFixed(2)}V${y(below[k] + x).toFixed(2)}h${one.toFixed(3)}V${y(below[k]).toFixed(2)}z`;
      below[k] += x;
    });
    svg.append(s("path", { d: path, style: { fill: partColor(part) } }));
  });
  for (const at of ticks(0, whole, 4)) {
    svg.append(s("line", { class: "grid", x1: left, x2: width, y1: y(at), y2: y(at) }),
      s("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end", text: seconds(at) }));
  }
  list.forEach((row, k) => svg.append(s("rect", { class: "over", x: left + k * one, y: top, width: one, height: bottom - top },
    s("title", { text: `rank ${row.rank}: ${partsText(row.parts)}` }))));
  const every = Math.max(1, Math.ceil(list.length / (width / 56)));
  list.forEach((row, k) => {
    if (k % every) return;
    svg.append(s("text", { x: left + (k + 0.5) * one, y: height - 8, "text-anchor": "middle", text: String(row.rank) }));
  });
  return svg;
}

function distributionTable(list) {
  const rows = [...PARTS.map((part, i) => [PART_WORDS[part], (r) => r.parts[i]]), ["busy", (r) => r.busy]];
  return h("div", { class: "scroll" }, h("table", { class: "numbers" },
    h("thead", {}, h("tr", {}, ["seconds of a step", "least", "on rank", "median", "most", "on rank"].map((x) => h("th", { scope: "col", text: x })))),
    h("tbody", {}, rows.map(([name, of]) => {
      const sorted = [...list].sort((a, b) => of(a) - of(b));
      const low = sorted[0], high = sorted[sorted.length - 1];
      if (!(of(high) > 0)) return null;
      return h("tr", {}, h("th", { scope: "row", text: name }), [seconds(of(low)), String(low.rank), seconds(median(sorted.map(of))), seconds(of(high)), String(high.rank)]
        .map((x) => h("td", { text: x })));
    }))));
}

// How busy ranks are, and the one that is busier than the others, if there is one.
function verdict(list, first, last) {
  const busy = list.map((r) => r.busy).sort((a, b) => a - b);
  const most = list.reduce((a, b) => (b.busy > a.busy ? b : a));
  const whole = list.reduce((sum, r) => sum + r.all, 0) / list.length;
  const part = busy.reduce((a, b) => a + b, 0) / list.length / whole;
  const steps = first === last ? `In step ${first}` : `In steps ${first} to ${last}`;
  const words = `${steps} ranks are busy ${percent(part)} of ${seconds(whole)}${first === last ? "" : " a step"}.`;
  const middle = median(busy);
  return list.length > 1 && most.busy - middle > 0.1 * whole
    ? `${words} Rank ${most.rank} works ${seconds(most.busy)}, half of them ${seconds(middle)} or less.` : words;
}

// ---- of one run, with what is chosen ----

// The bins whose steps are between the two.
function binsBetween(r, first, last) {
  let from = r.first.findIndex((_, i) => r.last[i] >= first);
  let to = r.last.length - 1;
  while (to > 0 && r.first[to] > last) to--;
  if (from < 0) from = to;
  return [Math.min(from, to), to];
}

// The steps since the last start, whose ranks may be others than before; of
// several without the first, in which much is done for the first time.
function firstShown(run) {
  const { first, bins } = run.ranks;
  const after = (run.starts[run.starts.length - 1] || {}).step || 0;
  const from = Math.max(0, first.findIndex((x) => x > after));
  return first[from + (bins - from > 2 || (from === 0 && bins > 1) ? 1 : 0)];
}

function rankFigure(run) {
  if (!hasOwn(run)) return null;
  const r = run.ranks;
  const lowest = r.first[0], highest = r.last[r.bins - 1];
  const chosen = { first: firstShown(run), last: highest, sort: "busy" };
  const box = h("div", {});
  const field = (label, key) => h("input", {
    type: "number", min: lowest, max: highest, "aria-label": label,
    onchange: (e) => {
      chosen[key] = Math.min(highest, Math.max(lowest, Math.round(Number(e.target.value)) || lowest));
      if (chosen.first > chosen.last) chosen[key === "first" ? "last" : "first"] = chosen[key];
      draw();
    },
  });
  const first = field("First step", "first"), last = field("Last step", "last");
  const draw = () => {
    const [from, to] = binsBetween(r, chosen.first, chosen.last);
    first.value = r.first[from];
    last.value = r.last[to];
    const list = ownOf(run, from, to);
    clear(box);
    if (!list.length) return;
    const whole = Math.max(...list.map((x) => x.all)) || 1;
    if (chosen.sort === "busy") list.sort((a, b) => b.busy - a.busy || a.rank - b.rank);
    box.append(h("p", { text: verdict(list, r.first[from], r.last[to]) }));
    if (list.length <= BARS) box.append(h("div", { class: "totals ranks" }, list.map((x) => rankBar(x, whole))));
    else {
      const byBusy = [...list].sort((a, b) => b.busy - a.busy || a.rank - b.rank);
      box.append(outline(list, whole, `What ${list.length} ranks do in a step of ${run.name}`),
        h("h4", { text: `The ${AT_ENDS} busiest` }), h("div", { class: "totals ranks" }, byBusy.slice(0, AT_ENDS).map((x) => rankBar(x, whole))),
        h("h4", { text: `The ${AT_ENDS} that wait most` }), h("div", { class: "totals ranks" }, byBusy.slice(-AT_ENDS).map((x) => rankBar(x, whole))));
    }
    if (list.length > 1) box.append(h("details", {}, h("summary", { text: "Least, median and most" }), distributionTable(list)));
  };
  const choose = (from, to) => {
    chosen.first = from;
    chosen.last = to;
    draw();
  };
  run.chooseSteps = choose;
  const figure = h("figure", { class: "wide ranks" }, h("figcaption", { text: `${run.name}: ${many(r.n, "rank")}` }),
    h("div", { class: "tools" },
      h("span", { class: "field" }, "Steps", first, "to", last),
      h("button", { type: "button", class: "quiet", text: "All steps", onclick: () => choose(lowest, highest) }),
      r.n > 1 ? choice("Order", [["busy", "busiest first"], ["rank", "by number"]], chosen.sort, (sort) => { chosen.sort = sort; draw(); }) : null),
    box);
  draw();
  return figure;
}
