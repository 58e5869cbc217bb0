// Where the time goes: bars of steps and of runs; what was predicted; starts.

// The steps of a run with what they took, one after the other: of ranks, on the
// mean of them, or as metrics have them, where waiting is in every part.
function timeline(run) {
  const all = run.metric.get("seconds");
  if (hasOwn(run) && (!all || !all.n || run.ranks.first[0] <= all.step[0])) {
    const { first, last, bins } = run.ranks;
    return { n: bins, first: (i) => first[i], last: (i) => last[i], parts: (from, to) => meanOf(ownOf(run, from, to - 1)) };
  }
  const metric = PARTS.map((part) => run.metric.get("seconds." + part));
  const mean = (m, from, to) => {
    let sum = 0;
    for (let i = from; m && i < to && i < m.n; i++) sum += m.value[i] || 0;
    return sum / Math.max(1, to - from);
  };
  return { n: all ? all.n : 0, first: (i) => all.step[i], last: (i) => all.step[i], parts: (from, to) => metric.map((m) => mean(m, from, to)) };
}

// The mean of all steps: step by step, for a run may be resumed on other ranks.
function meanStep(line) {
  const sums = PARTS.map(() => 0);
  let steps = 0;
  for (let i = 0; i < line.n; i++) {
    const weight = line.last(i) - line.first(i) + 1;
    line.parts(i, i + 1).forEach((x, k) => { sums[k] += weight * (x || 0); });
    steps += weight;
  }
  return sums.map((x) => x / Math.max(1, steps));
}

function totalBar(run) {
  const line = timeline(run);
  const parts = meanStep(line);
  const sum = parts.reduce((a, b) => a + b, 0) || 1;
  return h("div", { class: "total" },
    h("span", { class: "name", text: run.name }), partsBar(parts, sum, `${run.name}: ${partsText(parts)}`),
    h("span", { class: "sum", text: seconds(sum) + " a step" }));
}

// A bar for each step, or for several where they are many.
function stepBars(run) {
  const line = timeline(run);
  if (!line.n) return null;
  const most = 120;
  const each = Math.ceil(line.n / most);
  const bars = [];
  for (let i = 0; i < line.n; i += each) {
    const to = Math.min(line.n, i + each);
    bars.push({ first: line.first(i), last: line.last(to - 1), parts: line.parts(i, to) });
  }
  const width = pictureWidth(), height = 180, left = 54, bottom = 158;
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
    const group = s("g", run.chooseSteps ? { class: "pick", onclick: () => run.chooseSteps(bar.first, bar.last) } : {}, s("title", {
      text: (bar.first === bar.last ? `step ${bar.first}` : `steps ${bar.first} to ${bar.last}`) + ": " + partsText(bar.parts),
    }));
    bar.parts.forEach((x, i) => {
      const tall = Math.min(x / high * (bottom - 10), y - 10);
      if (!(tall > 0)) return;
      y -= tall;
      group.append(s("rect", { x: left + k * one + 0.5, y, width: Math.max(0.5, one - 1), height: tall, style: { fill: partColor(PARTS[i]) } }));
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

const LEAST_PART = 0.01; // of a step: calls that take less are left out

// The part of the ranks' time that they wait, without the first step.
function waitPart(run) {
  if (!hasOwn(run)) return undefined;
  const list = ownOf(run, Math.min(1, run.ranks.bins - 1), run.ranks.bins - 1);
  const all = list.reduce((sum, r) => sum + r.all, 0);
  return all > 0 ? 1 - list.reduce((sum, r) => sum + r.busy, 0) / all : undefined;
}

// The bytes that the rank takes which takes most, as they were counted when the
// run was opened.
function mostCounted(run) {
  const start = run.starts[run.starts.length - 1];
  return isCounted(start) ? Math.max(...start.memory.map((g) => sumOf(g.parts, "device") + sumOf(g.parts, "host"))) : undefined;
}

// [what, predicted, measured, its words]
function predictionRows(run) {
  const p = run.prediction;
  const least = LEAST_PART * Math.max(p.step, p.measured_step || 0);
  const rows = [["a step", p.step, p.measured_step, seconds]];
  for (const call of p.calls || []) {
    if (!(Math.max(call.seconds || 0, call.measured || 0) > least)) continue;
    rows.push([plain(call.call) + (call.every ? `, every ${call.every} steps` : ""), call.seconds, call.measured, seconds]);
  }
  if (p.tokens_per_second) rows.push(["tokens per second", p.tokens_per_second, p.measured_tokens_per_second, number]);
  if (p.idle > 0) rows.push(["ranks wait", p.idle, waitPart(run), percent]);
  if (p.memory > 0) rows.push(["memory of the rank that takes most", p.memory, mostCounted(run), bytes]);
  return rows;
}

// Predicted above measured, in a part of the longest of all.
function pairBars(is, was, most) {
  const bar = (kind, x) => h("span", { class: kind, style: { width: Math.max(0.5, 100 * x / most) + "%" } });
  return h("div", { class: "pair", "aria-hidden": "true" }, bar("predicted", is || 0), bar("measured", was || 0));
}

function predictionTable(run) {
  const p = run.prediction;
  if (!p || !(p.step > 0)) return null;
  const rows = predictionRows(run);
  const most = Math.max(...rows.filter((r) => r[3] === seconds).map((r) => Math.max(r[1] || 0, r[2] || 0)));
  return h("div", {},
    h("h3", { text: run.name + ": predicted and measured" }),
    h("div", { class: "scroll" }, h("table", { class: "numbers" },
      h("thead", {}, h("tr", {}, ["", "predicted", "measured", "measured / predicted", ""].map((x) => h("th", { scope: "col", text: x })))),
      h("tbody", {}, rows.map(([name, is, was, words]) => {
        const times = is > 0 && was > 0 && words !== percent ? was / is : NaN;
        return h("tr", {}, h("th", { scope: "row", text: name }), h("td", { text: words(is) }),
          h("td", { text: was > 0 ? words(was) : words === seconds ? "not run" : "not known" }),
          h("td", { class: times > 2 || times < 0.5 ? "far" : null, text: times > 0 ? number(times, 3) : "–" }),
          h("td", {}, words === seconds ? pairBars(is, was, most) : null));
      })))),
    h("p", { class: "hint", text: `Predicted for ${p.cluster === "this" ? "this machine" : plain(p.cluster || "these devices")}` +
      (p.guessed ? ", by rates that nobody has measured (rlflow profile does)" : "") +
      (p.measured_steps ? `; measured in ${many(p.measured_steps, "step")}, of calls in those that have them, waiting within them included, on the rank that each keeps longest` : "") + "." }));
}

// ---- the page ----

function timesPage() {
  const page = h("section", { class: "page" },
    h("h2", { text: "What a step takes" }),
    h("div", { class: "legend" }, PARTS.map((p) => h("span", {}, h("i", { style: { background: partColor(p) } }), PART_WORDS[p]))),
    h("div", { class: "totals" }, report.runs.map(totalBar)));
  const ranks = report.runs.map(rankFigure);
  page.append(...report.runs.map(stepBars).filter(Boolean));
  if (report.runs.some((run) => hasOwn(run) && run.ranks.n > 1)) {
    page.append(h("h2", { text: "What ranks do" }), ...ranks.filter((figure, i) => figure && report.runs[i].ranks.n > 1),
      h("p", { class: "hint" }, "A rank waits while it has nothing to do before its next command, or for messages of other ranks, whatever it is at; what it does includes what its device waits for by itself. ",
        "A press on a step above shows its ranks."));
  }
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
