// Where the time goes: bars of steps and of runs; what was predicted; memory.

const PARTS = ["generate", "read", "train", "lua", "rest"];
const PART_WORDS = {
  generate: "generate", read: "read (log-probabilities, values, scores)", train: "train", lua: "Lua", rest: "rest, waiting",
};

function partColor(i) {
  return `var(--part-${i})`;
}

// Parts of some steps: mean seconds of each.
function partsOf(run, from, to) {
  return PARTS.map((part) => {
    const m = run.metric.get("seconds." + part);
    if (!m) return 0;
    let sum = 0;
    for (let i = from; i < to && i < m.n; i++) sum += m.value[i] || 0;
    return sum / Math.max(1, to - from);
  });
}

function totalBar(run) {
  const all = run.metric.get("seconds");
  const parts = partsOf(run, 0, all ? all.n : 0);
  const sum = parts.reduce((a, b) => a + b, 0) || 1;
  return h("div", { class: "total" },
    h("span", { class: "name", text: run.name }),
    h("div", { class: "bar", role: "img", "aria-label": PARTS.map((p, i) => `${p} ${Math.round(100 * parts[i] / sum)} %`).join(", ") },
      parts.map((x, i) => h("span", {
        style: { width: 100 * x / sum + "%", background: partColor(i) }, title: `${PART_WORDS[PARTS[i]]}: ${seconds(x)} a step, ${number(100 * x / sum, 3)} %`,
        text: x / sum > 0.07 ? Math.round(100 * x / sum) + " %" : "",
      }))),
    h("span", { class: "sum", text: seconds(sum) + " a step" }));
}

// A bar for each step, or for several where they are many.
function stepBars(run) {
  const all = run.metric.get("seconds");
  if (!all || !all.n) return null;
  const most = 120;
  const each = Math.ceil(all.n / most);
  const bars = [];
  for (let i = 0; i < all.n; i += each) {
    const to = Math.min(all.n, i + each);
    bars.push({ first: all.step[i], last: all.step[to - 1], parts: partsOf(run, i, to) });
  }
  const width = 900, height = 180, left = 54, bottom = 158;
  // One slow step, such as the first, is cut off, which is said.
  const sums = bars.map((b) => b.parts.reduce((x, y) => x + y, 0)).sort((a, b) => a - b);
  const high = Math.min(sums[sums.length - 1], 2.5 * (sums[Math.floor(0.9 * (sums.length - 1))] || 1)) || 1;
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "bars", role: "img", "aria-label": `Seconds of the steps of ${run.name}` });
  for (const y of ticks(0, high, 4)) {
    const at = bottom - y / high * (bottom - 10);
    svg.append(s("line", { class: "grid", x1: left, x2: width, y1: at, y2: at }),
      s("text", { x: left - 6, y: at + 4, "text-anchor": "end", text: seconds(y) }));
  }
  const one = (width - left) / bars.length;
  bars.forEach((bar, k) => {
    let y = bottom;
    const group = s("g", {}, s("title", {
      text: (bar.first === bar.last ? `step ${bar.first}` : `steps ${bar.first} to ${bar.last}`) + ": " +
        PARTS.map((p, i) => `${p} ${seconds(bar.parts[i])}`).join(", "),
    }));
    bar.parts.forEach((x, i) => {
      const tall = Math.min(x / high * (bottom - 10), y - 10);
      if (!(tall > 0)) return;
      y -= tall;
      group.append(s("rect", { x: left + k * one + 0.5, y, width: Math.max(0.5, one - 1), height: tall, style: { fill: partColor(i) } }));
    });
    if (bar.parts.reduce((a, b) => a + b, 0) > high * 1.001) {
      group.append(s("text", { x: left + k * one + one / 2, y: 9, "text-anchor": "middle", text: "↑" }));
    }
    svg.append(group);
  });
  for (const x of ticks(bars[0].first, bars[bars.length - 1].last, 8)) {
    const k = bars.findIndex((b) => x >= b.first && x <= b.last);
    if (k >= 0) svg.append(s("text", { x: left + (k + 0.5) * one, y: height - 6, "text-anchor": "middle", text: String(x) }));
  }
  return h("figure", { class: "wide" }, h("figcaption", { text: run.name + ": seconds of each step" }), svg);
}

// ---- prediction ----

function predictionRows(p) {
  const rows = [["a step", p.step, p.measured_step]];
  for (const call of p.calls || []) {
    rows.push([plain(call.call) + (call.every ? `, every ${call.every} steps` : ""), call.seconds, call.measured]);
  }
  return rows;
}

function predictionTable(run) {
  const p = run.prediction;
  if (!p) return null;
  return h("div", {},
    h("h3", { text: run.name + ": predicted and measured" }),
    h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, ["", "predicted", "measured", "measured / predicted"].map((x) => h("th", { scope: "col", text: x })))),
      h("tbody", {}, predictionRows(p).map(([name, is, was]) => h("tr", {},
        h("th", { scope: "row", text: name }), h("td", { text: seconds(is) }),
        h("td", { text: was > 0 ? seconds(was) : "not run" }),
        h("td", { text: is > 0 && was > 0 ? number(was / is, 3) : "–" }))),
      p.tokens_per_second ? h("tr", {}, h("th", { scope: "row", text: "tokens per second" }),
        h("td", { text: number(p.tokens_per_second) }), h("td", { text: number(p.measured_tokens_per_second) }),
        h("td", { text: p.measured_tokens_per_second ? number(p.measured_tokens_per_second / p.tokens_per_second, 3) : "–" })) : null))),
    h("p", { class: "hint", text: `For ${plain(p.cluster || "these devices")}` +
      (p.guessed ? ", by rates that nobody has measured (rlflow profile does)" : "") + "." }));
}

// ---- memory ----

// What was planned stands in prediction.json, what was taken in metrics of that
// name.
function memoryTable(run) {
  const rows = [];
  if (run.prediction && run.prediction.memory > 0) rows.push(["predicted, of the rank that takes most", run.prediction.memory]);
  for (const m of run.metrics) {
    if (!/(^|\.)memory(\.|$)/.test(m.name) || !m.n) continue;
    rows.push(["measured: " + plain(m.name), m.value.reduce((a, b) => Math.max(a, b), 0)]);
  }
  if (!rows.length) return null;
  return h("div", {}, h("h3", { text: run.name + ": memory" }), h("table", {}, h("tbody", {}, rows.map(([name, x]) =>
    h("tr", {}, h("th", { scope: "row", text: name }), h("td", { text: bytes(x) }))))));
}

function timesPage() {
  const page = h("section", { class: "page" },
    h("h2", { text: "What a step takes" }),
    h("div", { class: "legend" }, PARTS.map((p, i) => h("span", {}, h("i", { style: { background: partColor(i) } }), PART_WORDS[p]))),
    h("div", { class: "totals" }, report.runs.map(totalBar)),
    report.runs.map(stepBars));
  const predictions = report.runs.map(predictionTable).filter(Boolean);
  if (predictions.length) page.append(h("h2", { text: "Prediction" }), ...predictions);
  const memory = report.runs.map(memoryTable).filter(Boolean);
  if (memory.length) page.append(h("h2", { text: "Memory" }), ...memory);
  page.append(startsTable());
  return page;
}

function startsTable() {
  const rows = report.runs.flatMap((run) => run.starts.map((start, i) => {
    const end = start.end || {};
    return h("tr", {},
      h("th", { scope: "row", text: run.name }),
      h("td", { text: i === 0 && !start.resume ? "start" : start.step ? `resume after step ${start.step}` : "resume" }),
      h("td", { text: plain(start.time || "") }),
      shownIn("td", {}, [((start.processes || [])[0] || {}).host, start.device, start.ranks ? many(start.ranks, "rank") : ""].filter(Boolean).join(", ")),
      shownIn("td", {}, (end.how || "no end") + (end.step ? ` after step ${end.step}` : "") + (end.in ? ` in ${end.in}` : "") + (end.message ? `: ${end.message}` : "")));
  }));
  return h("div", {}, h("h2", { text: "Starts" }), h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, ["run", "", "time", "where", "end"].map((x) => h("th", { scope: "col", text: x })))), h("tbody", {}, rows))));
}
