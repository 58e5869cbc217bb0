// The program of a run with its parameters, rewards, graph and plan; in what runs
// differ.

const WORDS = {
  rlf: /(##?.*$)|("(?:[^"\\]|\\.)*")|\b(param|data|model|hook|flow|def|import|update|minimize|report|every|for|in|if|else|checkpoint|place|over|steps|collect|until|keep|break|where|and|or|not|on|auto|scores|as|state)\b|\b(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\b/g,
  lua: /(--\[\[.*?\]\]|--.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|return|then|true|until|while)\b|\b(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\b/g,
};
const CLASSES = ["comment", "string", "word", "numeral"];

function coloredLine(line, kind) {
  const out = document.createDocumentFragment();
  let from = 0;
  for (const match of line.matchAll(WORDS[kind])) {
    out.append(shown(line.slice(from, match.index)));
    const which = match.slice(1).findIndex((x) => x !== undefined);
    out.append(h("span", { class: CLASSES[which] }, shown(match[0])));
    from = match.index + match[0].length;
  }
  out.append(shown(line.slice(from)));
  return out;
}

// A listing with numbers of lines; ids are PREFIX-LINE.
function listing(text, name, prefix) {
  const kind = name.endsWith(".lua") ? "lua" : "rlf";
  const rows = text.replace(/\n$/, "").split("\n").map((line, i) => h("span", { class: "row", id: `${prefix}-${i + 1}` },
    h("span", { class: "n", "aria-hidden": "true", text: i + 1 }), h("code", {}, coloredLine(line, kind))));
  return h("pre", { class: "listing", tabindex: 0 }, rows);
}

function parametersTable(run) {
  if (!run.parameters.length) return null;
  const others = report.runs.filter((r) => r !== run);
  return h("div", { class: "scroll" }, h("table", { class: "parameters" }, h("tbody", {}, run.parameters.map(([name, value]) => {
    const differs = others.some((r) => (r.parameters.find((p) => p[0] === name) || [])[1] !== value);
    return h("tr", { class: differs ? "differs" : "" }, h("th", { scope: "row" }, shown(name)), shownIn("td", {}, value));
  }))));
}

function sourceFold(run, source, i) {
  const name = source.copy.replace(/^inputs\/[^/]*\//, "");
  return h("details", {}, h("summary", {}, shown(name), h("small", { text: " " + plain(source.name) })),
    listing(source.text, source.copy, `source-${run.number}-${i}`));
}

function programOf(run) {
  const main = run.sources.find((x) => x.name === "program" && x.part === "file");
  const hooks = run.sources.filter((x) => x.name !== "program");
  const imports = run.sources.filter((x) => x.name === "program" && x !== main);
  const prefix = "program-" + run.number;
  const pick = (line) => {
    for (const row of document.querySelectorAll(".row.chosen")) row.classList.remove("chosen");
    const row = document.getElementById(`${prefix}-${line}`);
    if (!row) return;
    row.classList.add("chosen");
    row.scrollIntoView({ block: "center", behavior: "smooth" });
  };
  const out = h("div", { class: "program" });
  if (report.runs.length > 1) out.append(h("h2", { style: { color: runColor(run.number) }, text: run.name }));
  const picture = run.graph ? graphPicture(run.graph, main ? main.text : "", pick) : null;
  out.append(h("h3", { text: "Graph" }), picture || h("p", { class: "empty" }, shown(run.graph_why || "There is no graph.")));
  out.append(h("div", { class: "columns" },
    h("div", {}, h("h3", { text: "Program" }), main ? listing(main.text, main.copy, prefix)
      : h("p", { class: "empty", text: "The run has kept no copy of its program." })),
    h("div", {}, run.parameters.length ? h("h3", { text: "Parameters" }) : null, parametersTable(run),
      hooks.length ? h("h3", { text: "Hooks" }) : null,
      hooks.map((x, i) => h("div", {}, h("p", { class: "path" }, shown(x.name + ": " + x.path)),
        listing(x.text, x.copy, `hook-${run.number}-${i}`))))));
  if (imports.length) out.append(h("h3", { text: "Imports" }), ...imports.map((x, i) => sourceFold(run, x, i)));
  if (run.plan) {
    out.append(h("details", {}, h("summary", { text: "Plan: where everything ran" }), listing(run.plan, "plan.rlf", `plan-${run.number}`)));
  }
  out.append(inputsFold(run));
  return out;
}

function inputsFold(run) {
  return h("details", {}, h("summary", { text: `Inputs, with their digests (${run.inputs.length})` }),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, run.inputs.map((x) => h("tr", {},
      h("th", { scope: "row" }, shown(x.part ? `${x.name}, ${x.part}` : x.name)),
      shownIn("td", { class: "digest" }, x.value), shownIn("td", {}, x.path || "")))))));
}

// ---- differences ----

function differencesPart() {
  if (report.runs.length < 2) return null;
  const out = h("div", {}, h("h2", { text: "In what the runs differ" }));
  for (const run of report.runs.slice(1)) {
    const rows = report.differences.filter((d) => d.run === run.number);
    out.append(h("h3", {}, report.runs[0].name, " and ", run.name));
    if (!rows.length) {
      out.append(h("p", { class: "good", text: "In nothing: program, parameters, inputs, metrics." }));
      continue;
    }
    const table = rows.filter((d) => !d.text);
    out.append(rows.filter((d) => d.text).map((d) => h("div", {}, h("p", { class: "path" }, shown(`${d.kind}: ${d.name}`)), differenceText(d.text))).reduce((all, x) => { all.append(x); return all; }, h("div", {})));
    out.append(h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, ["", "", report.runs[0].name, run.name].map((x) => h("th", { scope: "col", text: x })))),
      h("tbody", {}, table.map((d) => h("tr", {}, h("td", { class: "muted", text: plain(d.kind) }), h("th", { scope: "row" }, shown(d.name)),
        shownIn("td", {}, d.a ?? "–"), shownIn("td", {}, d.b ?? "–")))))));
  }
  return out;
}

function differenceText(text) {
  return h("pre", { class: "difference", tabindex: 0 }, text.replace(/\n$/, "").split("\n").map((line) =>
    h("span", { class: "row " + ({ "-": "minus", "+": "plus" }[line[0]] || "") }, shown(line))));
}

function programPage() {
  return h("section", { class: "page" }, differencesPart(), report.runs.map(programOf));
}
