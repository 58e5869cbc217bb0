// The curves of all metrics, in groups, with what is chosen for all of them.

const TIMES = ["tokens per second", "tokens"];

// The heading that a metric stands below.
function groupOf(name) {
  if (TIMES.includes(name) || name === "seconds" || name.startsWith("seconds.")) return "Time";
  const dot = name.indexOf(".");
  return dot > 0 ? name.slice(0, dot) : "";
}

// Names of all runs: what the program reports first, then by model, time last.
function metricNames() {
  const names = new Set();
  for (const run of report.runs) for (const m of run.metrics) names.add(m.name);
  const order = (name) => {
    const group = groupOf(name);
    return group === "" ? 0 : group === "Time" ? 2 : 1;
  };
  const headline = ["reward", "accuracy", "kl", "entropy", "length", "clipped"];
  const rank = (name) => {
    const at = headline.indexOf(name);
    return at < 0 ? headline.length : at;
  };
  return [...names].sort((a, b) => order(a) - order(b) || (order(a) === 0 ? rank(a) - rank(b) : 0) ||
    (groupOf(a) < groupOf(b) ? -1 : groupOf(a) > groupOf(b) ? 1 : 0));
}

function linesOf(name) {
  const out = [];
  for (const run of report.runs) {
    const metric = run.metric.get(name);
    if (metric) out.push({ run, step: metric.step, value: metric.value });
  }
  return out;
}

function chartOf(name, height) {
  return new Chart(name, linesOf(name), { height, pick: (step, run) => showSamples({ run: run.number, step }) });
}

// The runs with their colours; a press hides one.
function legend() {
  if (report.runs.length < 2) return null;
  const out = h("div", { class: "legend", role: "group", "aria-label": "Runs" });
  for (const run of report.runs) {
    const button = h("button", {
      type: "button", "aria-pressed": !view.hidden.has(run.number) ? "true" : "false", title: plain(run.directory),
      onclick: () => {
        if (!view.hidden.delete(run.number)) view.hidden.add(run.number);
        for (const other of document.querySelectorAll(`[data-run="${run.number}"]`)) {
          other.setAttribute("aria-pressed", view.hidden.has(run.number) ? "false" : "true");
        }
        redraw();
      },
      "data-run": run.number,
    }, h("i", { style: { background: runMark(run.number) } }), run.name);
    out.append(button);
  }
  return out;
}

function rangeButton() {
  const button = h("button", {
    type: "button", class: "quiet", text: "Show all steps",
    onclick: () => { view.range = null; redraw(); look(); },
  });
  const look = () => { button.hidden = !view.range; };
  document.addEventListener("range", look);
  look();
  return button;
}

function curveTools(filter) {
  const smooth = h("input", {
    type: "range", min: 0, max: 0.99, step: 0.01, "aria-label": "Smoothing",
    oninput: () => {
      view.smooth = Number(smooth.value);
      kept.set("smooth", view.smooth);
      shownValue.textContent = view.smooth.toFixed(2);
      redraw();
    },
  });
  smooth.value = view.smooth;
  const shownValue = h("output", { text: view.smooth.toFixed(2) });
  const search = h("input", {
    type: "search", placeholder: "Metrics", "aria-label": "Metrics that have this in their names",
    oninput: () => filter(search.value.trim().toLowerCase()),
  });
  return h("div", { class: "tools" },
    h("label", { class: "field" }, h("span", { text: "Smoothing" }), smooth, shownValue),
    choice("Over", [["step", "steps"], ["seconds", "time"], ["tokens", "tokens"]], view.axis, (value) => {
      view.axis = value;
      view.range = null;
      kept.set("axis", value);
      redraw();
    }),
    check("Logarithmic", view.log, (on) => { view.log = on; redraw(); }),
    check("Outliers", view.outliers, (on) => { view.outliers = on; redraw(); }, "Without: from the 2nd to the 98th percentile"),
    search, rangeButton(), legend());
}

function curvesPage() {
  const names = metricNames();
  const groups = new Map();
  const page = h("section", { class: "page" });
  for (const name of names) {
    const group = groupOf(name);
    if (!groups.has(group)) {
      groups.set(group, h("div", { class: "plots" }));
    }
    const chart = chartOf(name);
    chart.element.dataset.name = name.toLowerCase();
    groups.get(group).append(chart.element);
  }
  const filter = (what) => {
    for (const plot of page.querySelectorAll("figure.plot")) {
      plot.hidden = !plot.dataset.name.includes(what);
    }
    for (const part of page.querySelectorAll(".part")) {
      part.hidden = ![...part.querySelectorAll("figure.plot")].some((plot) => !plot.hidden);
    }
  };
  page.append(curveTools(filter));
  if (!names.length) page.append(h("p", { class: "empty", text: "No step has been recorded yet." }));
  for (const [group, plots] of groups) {
    page.append(h("div", { class: "part" }, h("h2", { text: plain(group || "Reported by the program") }), plots));
  }
  page.append(h("p", { class: "hint" }, "Drag to choose steps, double-click for all of them. A click shows the samples of that step. ",
    "Triangles are the checkpoints that are there, dashed lines resumes."));
  return page;
}
