// What is worth a look: findings in the numbers, warnings of the run, what could
// not be read; and the first page, which begins with them.

const KINDS = {
  constant: "Reward", kl: "KL", entropy: "Entropy", cut: "Cut off", groups: "Groups",
  clipped: "Clipped", nonfinite: "Not finite", warned: "Warning",
};

function stepsText(f) {
  return f.first === f.last ? (f.first ? "step " + f.first : "at the start") : `steps ${f.first} to ${f.last}`;
}

function showRange(first, last) {
  const room = Math.max(3, Math.round(0.3 * (last - first)));
  view.axis = "step";
  view.range = [first - room, last + room];
  go("curves");
  redraw();
  document.dispatchEvent(new CustomEvent("range"));
}

function findingRow(run, f) {
  return h("li", { class: "finding " + (f.kind === "warned" ? "warned" : "found") },
    h("span", { class: "kind", text: KINDS[f.kind] || plain(f.kind) }),
    h("div", {},
      report.runs.length > 1 ? h("b", { style: { color: runColor(run.number) }, text: run.name + " " }) : null,
      shown(f.text), " ",
      h("span", { class: "links" },
        h("button", { type: "button", class: "link", text: stepsText(f), onclick: () => showRange(f.first, f.last) }),
        run.samples.n && f.first ? h("button", {
          type: "button", class: "link", text: "samples", onclick: () => showSamples({ run: run.number, step: f.first }),
        }) : null)));
}

function findingsList(most) {
  const rows = report.runs.flatMap((run) => run.findings.map((f) => findingRow(run, f)));
  const out = h("div", {});
  if (!rows.length) {
    out.append(h("p", { class: "good", text: "Nothing stands out in the numbers that were recorded." }));
    return out;
  }
  out.append(h("ul", { class: "findings" }, rows.slice(0, most)));
  if (rows.length > most) {
    out.append(h("button", { type: "button", class: "quiet", text: `All ${rows.length} findings`, onclick: () => go("findings") }));
  }
  return out;
}

function findingsPage() {
  const page = h("section", { class: "page" }, h("h2", { text: "Findings" }), findingsList(1e9));
  const notes = report.runs.flatMap((run) => run.notes);
  if (notes.length) {
    page.append(h("h2", { text: "What could not be read" }),
      h("ul", { class: "notes" }, notes.map((note) => shownIn("li", {}, note))));
  }
  return page;
}

// ---- the first page ----

const STATES = ["unknown", "live", "bad", "good", "idle", "idle", "bad", "unknown"];

function facts(run) {
  const start = run.starts[run.starts.length - 1] || {};
  const process = (start.processes || [])[0] || {};
  const resumes = run.starts.filter((x) => x.resume).length;
  const rows = [
    ["Steps", run.steps && run.steps !== run.step ? `${run.step} of ${run.steps}` : String(run.step)],
    ["Time", seconds(run.seconds)],
    ["Samples", run.samples.of > run.samples.n ? `${run.samples.of.toLocaleString("en")}, ${run.samples.n.toLocaleString("en")} of them recorded`
      : run.samples.n ? run.samples.n.toLocaleString("en") : "none"],
    ["Machine", [start.device, start.dtype, start.isa].filter(Boolean).join(", ")],
    ["Ranks", start.ranks ? `${start.ranks} × ${many(start.threads || 1, "thread")}` : ""],
    ["Host", process.host || ""],
    ["Started", (run.starts[0] || {}).time ? run.starts[0].time.replace("T", " ").replace("Z", " UTC") : ""],
    ["Resumes", resumes ? String(resumes) : ""],
    ["rlflow", start.rlflow || ""],
  ].filter((row) => row[1]);
  return h("dl", { class: "facts" }, rows.map(([key, value]) =>
    h("div", {}, h("dt", { text: key }), shownIn("dd", {}, value))));
}

function runCard(run) {
  return h("div", { class: "card run", style: { "--own": runColor(run.number) } },
    h("h2", {}, run.name, " ", h("span", { class: "state " + (STATES[run.state] || ""), text: plain(run.state_text) })),
    h("p", { class: "path" }, shown(run.program || "no program is known"), " in ", shown(run.directory)),
    run.why ? shownIn("pre", { class: "why" }, run.why) : null,
    run.steps ? h("progress", { max: run.steps, value: run.step, "aria-label": "Steps" }) : null,
    facts(run));
}

// A metric as a number and a small curve.
function tile(name) {
  const lines = linesOf(name);
  const rows = lines.map(({ run, step, value }) => {
    const n = value.length;
    const smooth = smoothed(value, 0.6);
    const change = n > 1 ? smooth[n - 1] - value[0] : 0;
    return h("div", { class: "value" },
      lines.length > 1 ? h("i", { style: { background: runMark(run.number) } }) : null,
      h("b", { text: number(value[n - 1], 4) }),
      h("small", { text: n > 1 ? `from ${number(value[0], 3)}` : "", title: `step ${step[0]} to ${step[n - 1]}, change ${number(change, 3)}` }));
  });
  return h("button", { type: "button", class: "card tile", onclick: () => go("curves") },
    h("span", { class: "name", text: plain(name) }), rows, spark(lines));
}

function spark(lines) {
  const width = 140, height = 34;
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "spark", preserveAspectRatio: "none", "aria-hidden": "true" });
  let low = Infinity, high = -Infinity, to = 1, from = Infinity;
  for (const l of lines) {
    for (const y of l.value) {
      if (y < low) low = y;
      if (y > high) high = y;
    }
    to = Math.max(to, l.step[l.step.length - 1] || 1);
    from = Math.min(from, l.step[0] || 0);
  }
  for (const l of lines) {
    const x = (step) => 2 + (step - from) / (to - from || 1) * (width - 4);
    const y = (value) => height - 3 - (value / 4 - low / 4) / (high / 4 - low / 4 || 1) * (height - 6);
    const points = thinned(l.step, l.value, from, to, width).filter((i) => Number.isFinite(l.value[i]));
    const d = points.map((i, k) => (k ? "L" : "M") + x(l.step[i]).toFixed(1) + " " + y(l.value[i]).toFixed(1)).join("");
    svg.append(s("path", { d, style: { stroke: runColor(l.run.number) }, "stroke-dasharray": runDash(l.run.number) }));
  }
  return svg;
}

// What the first page shows: what the program reports, else whatever there is.
function headlines() {
  const names = metricNames();
  const reported = names.filter((name) => groupOf(name) === "");
  return reported.length ? reported : names.filter((name) => groupOf(name) !== "Time");
}

function overviewPage() {
  const names = headlines();
  const page = h("section", { class: "page" },
    h("div", { class: "cards" }, report.runs.map(runCard)),
    h("div", { class: "tiles" }, names.slice(0, 8).map(tile)),
    h("h2", { text: "Worth a look" }), findingsList(6));
  if (names.length) {
    page.append(h("h2", { text: "Curves" }), legend() || "",
      h("div", { class: "plots large" }, names.slice(0, 4).map((name) => chartOf(name, 220).element)));
  }
  return page;
}
