// A curve in steps: raw and smoothed, one line a run, with marks, a cursor that
// all charts share, and a range that is chosen by dragging.

// What all charts have in common.
const view = {
  smooth: kept.get("smooth", 0.6),
  axis: kept.get("axis", "step"),
  log: false,
  outliers: true,
  range: null, // of the axis: [from, to]
  hidden: new Set(), // numbers of runs
  charts: new Set(),
};

// ---- which charts are drawn, and when ----
//
// Those that are seen at once; all others in slices, so that a page of many
// metrics answers meanwhile. Widths come from the observer: to ask an element
// for its own lays out the whole page.

const SLICE = 12; // milliseconds
const charted = new WeakMap(); // elements to charts
const waiting = new Set(); // charts that are to be drawn
let slice = 0;

function drawSlice() {
  slice = 0;
  const until = performance.now() + SLICE;
  for (const chart of waiting) {
    if (performance.now() > until) break;
    waiting.delete(chart);
    chart.draw();
  }
  if (waiting.size) slice = setTimeout(drawSlice, 4);
}

function drawLater(chart) {
  waiting.add(chart);
  slice ||= setTimeout(drawSlice, 0);
}

function drawNowOrLater(chart) {
  if (!chart.near) {
    drawLater(chart);
    return;
  }
  waiting.delete(chart);
  chart.draw();
}

const sizes = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const chart = charted.get(target);
    const room = Math.round(contentRect.width);
    if (!room || chart.room === room) continue;
    chart.room = room;
    drawNowOrLater(chart);
  }
});

const nearness = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const chart = charted.get(target);
    chart.near = isIntersecting;
    if (isIntersecting && waiting.has(chart)) drawNowOrLater(chart);
  }
}, { rootMargin: "300px" });

function redraw() {
  for (const chart of view.charts) drawNowOrLater(chart);
}

// For what is printed, which nobody has seen.
function drawAll() {
  for (const chart of view.charts) chart.room = chart.element.clientWidth || chart.room;
  for (const chart of view.charts) chart.draw();
  waiting.clear();
}

function setCursor(x, from) {
  for (const chart of view.charts) {
    if (chart.near || chart.here !== null) chart.showCursor(x, chart === from);
  }
}

// An average that forgets: each value weighs `keep` times the next one.
function smoothed(values, keep) {
  const out = new Float64Array(values.length);
  let sum = 0;
  let weight = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) {
      sum = keep * sum + (1 - keep) * values[i];
      weight = keep * weight + (1 - keep);
    }
    out[i] = weight > 0 ? sum / weight : NaN;
  }
  return out;
}

// Where a step lies on the axis: itself, or what was taken until its end.
function axisOf(run) {
  const name = { seconds: "seconds", tokens: "tokens" }[view.axis];
  const metric = name && run.metric.get(name);
  if (!metric) return (step) => step;
  run.sums ||= {};
  if (!run.sums[name]) {
    const at = new Map();
    let sum = 0;
    metric.step.forEach((step, i) => {
      sum += Number.isFinite(metric.value[i]) ? metric.value[i] : 0;
      at.set(step, sum);
    });
    run.sums[name] = at;
  }
  return (step) => run.sums[name].get(step) ?? NaN;
}

function axisText(x) {
  return view.axis === "seconds" ? seconds(x) : number(x, 6);
}

// The least and the greatest of each pixel, and the last: as many as are seen.
function thinned(x, y, from, to, width) {
  const out = [];
  const scale = width / (to - from || 1);
  for (let i = 0; i < x.length;) {
    const pixel = Math.floor((x[i] - from) * scale);
    let low = i;
    let high = i;
    const first = i;
    do {
      if (y[i] < y[low] || Number.isNaN(y[low])) low = i;
      if (y[i] > y[high] || Number.isNaN(y[high])) high = i;
      i++;
    } while (i < x.length && Math.floor((x[i] - from) * scale) === pixel);
    out.push(...[...new Set([first, low, high, i - 1])].sort((p, q) => p - q));
  }
  return out;
}

const FEW = 16; // values that are not smoothed

class Chart {
  // lines: [{run, step, value}]; options: height, pick(step, run).
  constructor(title, lines, options = {}) {
    this.title = title;
    this.lines = lines;
    this.options = options;
    this.height = options.height || 190; // set before it is drawn: it takes no more room then
    this.svg = s("svg", {
      class: "chart", tabindex: 0, role: "img", height: this.height,
      onpointermove: (e) => this.move(e), onpointerleave: () => setCursor(null),
      onpointerdown: (e) => this.press(e), onpointerup: (e) => this.release(e),
      ondblclick: () => this.showAll(),
      onkeydown: (e) => this.key(e),
    });
    this.tip = h("div", { class: "tip", role: "status" });
    this.element = h("figure", { class: "plot" },
      h("figcaption", {}, h("span", { text: plain(title) }), h("span", { class: "last" })),
      h("div", { class: "canvas", style: { height: this.height + "px" } }, this.svg, this.tip));
    this.here = null;
    charted.set(this.element, this);
    sizes.observe(this.element);
    nearness.observe(this.element);
    view.charts.add(this);
  }

  // Numbers of the lines that are seen.
  prepare() {
    this.seen = this.lines.filter((l) => !view.hidden.has(l.run.number)).map((l) => {
      const at = axisOf(l.run);
      const x = Float64Array.from(l.step, (step) => at(step));
      const line = { ...l, x };
      line.smooth = view.smooth > 0 && l.value.length >= FEW ? smoothed(l.value, view.smooth) : null;
      return line;
    });
    let low = Infinity, high = -Infinity;
    for (const l of this.seen) {
      for (const x of l.x) {
        if (x < low) low = x;
        if (x > high) high = x;
      }
    }
    if (!(low <= high)) [low, high] = [0, 1];
    if (low === high) [low, high] = [low - 0.5, high + 0.5];
    [this.from, this.to] = view.range || [low, high];
  }

  // The range of values: without outliers between their percentiles.
  scale() {
    const all = [];
    for (const l of this.seen) {
      l.value.forEach((y, i) => {
        if (Number.isFinite(y) && l.x[i] >= this.from && l.x[i] <= this.to && (!view.log || y > 0)) all.push(y);
      });
    }
    all.sort((a, b) => a - b);
    let low = all.length ? all[0] : 0;
    let high = all.length ? all[all.length - 1] : 1;
    if (!view.outliers && all.length > 20) {
      low = all[Math.floor(0.02 * all.length)];
      high = all[Math.ceil(0.98 * all.length) - 1];
    }
    if (low === high) {
      const room = Math.abs(low) * 0.1 || 0.5;
      [low, high] = [low - room, high + room];
    }
    this.flat = all.length > 0 && all[0] === all[all.length - 1];
    // Of numbers whose difference is beyond all numbers parts are compared.
    const unit = Number.isFinite(high - low) ? 1 : 4;
    const f = view.log ? Math.log10 : (x) => x / unit;
    this.back = view.log ? (t) => 10 ** t : (t) => t * unit;
    if (view.log) low = low > 0 ? low : 1e-9;
    const pad = 0.05 * (f(high) - f(low));
    this.low = f(low) - pad;
    this.high = f(high) + pad;
    this.f = f;
  }

  px(x) {
    return this.left + (x - this.from) / (this.to - this.from) * (this.width - this.left - 8);
  }

  py(y) {
    const at = (this.f(y) - this.low) / (this.high - this.low);
    return this.bottom - at * (this.bottom - 8);
  }

  draw() {
    const width = this.room - 2;
    if (!(width > 40)) return;
    this.width = width;
    this.left = 48;
    this.bottom = this.height - 22;
    this.prepare();
    this.scale();
    clear(this.svg);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", this.height);
    this.drawFindings();
    this.drawAxes();
    this.drawMarks();
    for (const l of this.seen) this.drawLine(l);
    this.cursor = s("g", { class: "cursor" });
    this.svg.append(this.cursor);
    this.label();
  }

  drawAxes() {
    const axes = s("g", { class: "axes" });
    const values = ticks(this.low, this.high, 4).map(this.back);
    for (const y of values) {
      const at = this.py(y);
      if (!(at >= 4 && at <= this.bottom + 1)) continue;
      axes.append(s("line", { x1: this.left, x2: this.width - 8, y1: at, y2: at }));
      axes.append(s("text", { x: this.left - 6, y: at + 3.5, "text-anchor": "end", text: number(y, 3) }));
    }
    const count = Math.max(2, Math.floor(this.width / 90));
    for (const x of ticks(this.from, this.to, count)) {
      if (view.axis !== "seconds" && this.to - this.from < 6 && x !== Math.round(x)) continue;
      axes.append(s("text", {
        x: Math.min(this.px(x), this.width - 14), y: this.height - 6, "text-anchor": "middle", text: axisText(x),
      }));
    }
    this.svg.append(axes);
  }

  // Steps of which something was found about this metric.
  drawFindings() {
    for (const run of new Set(this.seen.map((l) => l.run))) {
      const at = axisOf(run);
      for (const f of run.findings) {
        if (f.name !== this.title || !f.first) continue;
        const from = Math.max(this.left, this.px(at(f.first)) - 2);
        const to = Math.min(this.width - 8, this.px(at(f.last)) + 2);
        if (!(to > from)) continue;
        const own = report.runs.length > 1 ? { fill: runColor(run.number) } : null;
        this.svg.append(s("rect", { class: "stretch", style: own || {}, x: from, y: 6, width: to - from, height: this.bottom - 6 },
          s("title", { text: (own ? run.name + ": " : "") + plain(f.text) })));
      }
    }
  }

  // Checkpoints below the axis, resumes as lines.
  drawMarks() {
    for (const run of new Set(this.seen.map((l) => l.run))) {
      const at = axisOf(run);
      const inside = (x) => x >= this.from && x <= this.to;
      // Of those that were removed a run keeps the last alone, so none is shown.
      for (const c of run.checkpoints) {
        const x = at(c.step);
        if (!c.there || !inside(x)) continue;
        this.svg.append(s("path", {
          class: "checkpoint", style: { color: runColor(run.number) },
          d: `M${this.px(x)} ${this.bottom + 1}l4 5h-8z`,
        }, s("title", { text: `checkpoint of step ${c.step}` })));
      }
      for (const start of run.starts) {
        if (!start.resume || !(start.step > 0)) continue;
        const x = at(start.step);
        if (!inside(x)) continue;
        this.svg.append(s("line", {
          class: "resume", style: { color: runColor(run.number) },
          x1: this.px(x), x2: this.px(x), y1: 6, y2: this.bottom,
        }, s("title", { text: `resumed after step ${start.step}` })));
      }
    }
  }

  path(line, values) {
    const points = thinned(line.x, values, this.from, this.to, this.width);
    let d = "";
    let pen = "M";
    for (const i of points) {
      if (!Number.isFinite(values[i]) || !Number.isFinite(line.x[i]) || (view.log && values[i] <= 0)) {
        pen = "M";
        continue;
      }
      d += `${pen}${this.px(line.x[i]).toFixed(1)} ${this.py(values[i]).toFixed(1)}`;
      pen = "L";
    }
    return d;
  }

  drawLine(line) {
    const group = s("g", { class: "line", style: { color: runColor(line.run.number) }, "clip-path": `inset(0)` });
    const dash = { "stroke-dasharray": runDash(line.run.number) };
    group.append(s("path", { class: line.smooth ? "raw" : "smooth", d: this.path(line, line.value), ...dash }));
    if (line.smooth) group.append(s("path", { class: "smooth", d: this.path(line, line.smooth), ...dash }));
    if (line.value.length <= 40) {
      line.value.forEach((y, i) => {
        if (!Number.isFinite(y) || line.x[i] < this.from || line.x[i] > this.to) return;
        group.append(s("circle", { cx: this.px(line.x[i]), cy: this.py(y), r: 2.2, class: line.smooth ? "raw" : "" }));
      });
    }
    this.svg.append(group);
  }

  // What is said of it to those who do not see it, and its last value.
  label() {
    const words = this.seen.map((l) => {
      const n = l.value.length;
      if (!n) return l.run.name + ": no values";
      return `${l.run.name}: ${number(l.value[0])} in step ${l.step[0]}, ${number(l.value[n - 1])} in step ${l.step[n - 1]}`;
    });
    this.svg.setAttribute("aria-label", plain(this.title) + ". " + words.join(". "));
    const last = this.seen.length === 1 && this.seen[0].value.length
      ? number(this.seen[0].value[this.seen[0].value.length - 1]) : "";
    this.element.querySelector(".last").textContent = last + (this.flat && last ? ", constant" : "");
  }

  // ---- the cursor ----

  at(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * this.width;
    return this.from + (x - this.left) / (this.width - this.left - 8) * (this.to - this.from);
  }

  move(event) {
    const x = this.at(event);
    if (this.pressed !== undefined) this.drawBand(this.pressed, x);
    setCursor(x, this);
  }

  // The value of a line that is nearest to x.
  nearest(line, x) {
    let low = 0, high = line.x.length - 1;
    if (high < 0) return -1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (line.x[middle] <= x) low = middle;
      else high = middle;
    }
    return Math.abs(line.x[low] - x) <= Math.abs(line.x[high] - x) ? low : high;
  }

  showCursor(x, own) {
    if (!this.cursor) return;
    clear(this.cursor);
    this.tip.classList.remove("on");
    this.here = x;
    if (x === null || x < this.from || x > this.to) return;
    const rows = [];
    let at = x;
    for (const line of this.seen) {
      const i = this.nearest(line, x);
      if (i < 0) continue;
      at = line.x[i];
      rows.push({ line, i });
      if (Number.isFinite(line.value[i])) {
        this.cursor.append(s("circle", {
          cx: this.px(line.x[i]), cy: this.py(line.value[i]), r: 3.5, style: { color: runColor(line.run.number) },
        }));
      }
    }
    const px = this.px(at);
    this.cursor.prepend(s("line", { x1: px, x2: px, y1: 6, y2: this.bottom }));
    if (own) this.showTip(px, rows);
  }

  showTip(px, rows) {
    clear(this.tip);
    for (const { line, i } of rows) {
      const exact = line.smooth ? ` (smoothed ${number(line.smooth[i])})` : "";
      this.tip.append(h("div", {},
        h("i", { style: { background: runMark(line.run.number) } }),
        `${report.runs.length > 1 ? line.run.name + ", " : ""}step ${line.step[i]}: `,
        h("b", { text: number(line.value[i], 5) }), exact));
    }
    this.tip.classList.add("on");
    const right = px > this.width / 2;
    this.tip.style.left = right ? "" : px + 12 + "px";
    this.tip.style.right = right ? this.width - px + 12 + "px" : "";
  }

  // ---- choosing a range, and a step ----

  press(event) {
    this.pressed = this.at(event);
    this.svg.setPointerCapture(event.pointerId);
  }

  drawBand(a, b) {
    this.band?.remove();
    const [from, to] = [Math.min(a, b), Math.max(a, b)].map((x) => this.px(x));
    this.band = s("rect", { class: "band", x: from, y: 6, width: Math.max(0, to - from), height: this.bottom - 6 });
    this.svg.append(this.band);
  }

  release(event) {
    const from = this.pressed;
    const to = this.at(event);
    this.pressed = undefined;
    this.band?.remove();
    if (from === undefined) return;
    if (Math.abs(this.px(to) - this.px(from)) > 6) {
      view.range = [Math.min(from, to), Math.max(from, to)];
      redraw();
      document.dispatchEvent(new CustomEvent("range"));
    } else {
      // A second press means all steps.
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.pick(to), 300);
    }
  }

  showAll() {
    clearTimeout(this.waiting);
    view.range = null;
    redraw();
    document.dispatchEvent(new CustomEvent("range"));
  }

  pick(x) {
    const line = this.seen[0];
    const i = line ? this.nearest(line, x) : -1;
    if (i >= 0 && this.options.pick) this.options.pick(line.step[i], line.run);
  }

  key(event) {
    const line = this.seen && this.seen[0];
    if (!line || !line.x.length) return;
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    let i = this.here === null || this.here === undefined ? -1 : this.nearest(line, this.here);
    if (move) {
      i = i < 0 ? (move > 0 ? 0 : line.x.length - 1) : Math.max(0, Math.min(line.x.length - 1, i + move));
      setCursor(line.x[i], this);
      event.preventDefault();
    } else if (event.key === "Enter" && i >= 0) {
      this.pick(line.x[i]);
    } else if (event.key === "Escape") {
      this.showAll();
    }
  }
}
