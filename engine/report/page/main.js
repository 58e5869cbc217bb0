// The frame: pages, keys, colours, loading again while a run goes on.

const PAGES = [
  ["overview", "Overview", overviewPage],
  ["curves", "Curves", curvesPage],
  ["samples", "Samples", samplesPage],
  ["program", "Program", programPage],
  ["times", "Times", timesPage],
  ["findings", "Findings", findingsPage],
];
const made = new Map(); // pages that were looked at

// "all" is all of them, one below the other.
function pageNow() {
  const name = location.hash.slice(1);
  return name === "all" || PAGES.some((p) => p[0] === name) ? name : "overview";
}

function go(name) {
  if (pageNow() === "all") {
    document.getElementById("page-" + name)?.scrollIntoView();
    return;
  }
  if (pageNow() !== name) location.hash = name;
  show(name);
}

function makePage(name) {
  if (!made.has(name)) {
    const element = PAGES.find((p) => p[0] === name)[2]();
    element.id = "page-" + name;
    element.setAttribute("role", "tabpanel");
    element.setAttribute("aria-labelledby", "tab-" + name);
    made.set(name, element);
    document.querySelector("main").append(element);
  }
  return made.get(name);
}

function show(name) {
  const all = name === "all";
  for (const [key] of all ? PAGES : [[name]]) makePage(key);
  if (all) document.querySelector("main").append(...PAGES.map(([key]) => made.get(key)));
  for (const [key, element] of made) element.hidden = !all && key !== name;
  for (const tab of document.querySelectorAll("nav [role=tab]")) {
    const on = tab.id === "tab-" + name;
    tab.setAttribute("aria-selected", on ? "true" : "false");
    tab.tabIndex = on ? 0 : -1;
  }
}

// ---- light and dark ----

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function turnTheme() {
  const theme = isDark() ? "light" : "dark";
  setTheme(theme);
  kept.set("theme", theme);
}

// ---- the frame ----

const KEYS = [
  ["1 to 6", "pages"], ["0", "all pages, one below the other"], ["/", "search samples"], ["[ and ]", "step before, next step"], ["p and n", "page of samples before, next page"],
  ["arrows", "on a curve: step by step; Enter shows its samples; Esc shows all steps"], ["t", "light or dark"], ["?", "these keys"],
];

function helpDialog() {
  const dialog = h("dialog", { "aria-label": "Keys" }, h("h2", { text: "Keys" }),
    h("dl", { class: "keys" }, KEYS.map(([key, words]) => h("div", {}, h("dt", {}, h("kbd", { text: key })), h("dd", { text: words })))),
    h("form", { method: "dialog" }, h("button", { class: "quiet", text: "Close" })));
  dialog.id = "help";
  return dialog;
}

function titleText() {
  return report.runs.length > 4 ? many(report.runs.length, "run") : report.runs.map((run) => run.name).join(", ");
}

function header() {
  const count = report.runs.reduce((sum, run) => sum + run.findings.length, 0);
  const tabs = h("nav", { role: "tablist", "aria-label": "Pages" }, PAGES.map(([name, words]) => h("button", {
    type: "button", role: "tab", id: "tab-" + name, "aria-controls": "page-" + name, onclick: () => go(name),
    onkeydown: (e) => {
      const to = { ArrowRight: "nextSibling", ArrowLeft: "previousSibling" }[e.key];
      if (to && e.target[to]) { e.target[to].focus(); e.target[to].click(); }
    },
  }, words, name === "findings" && count ? h("span", { class: "count", text: count }) : null)));
  return h("header", {},
    h("div", { class: "title" }, h("span", { class: "mark", text: "rlflow" }), h("h1", { text: titleText() }),
      report.live ? h("span", { class: "state live", text: "goes on" }) : null),
    tabs,
    h("div", { class: "right" },
      h("button", { type: "button", class: "quiet", "aria-label": "Keys", title: "Keys (?)", text: "?", onclick: () => document.getElementById("help").showModal() }),
      h("button", { type: "button", class: "quiet", "aria-label": "Light or dark", title: "Light or dark (t)", text: "◐", onclick: turnTheme })));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const page = PAGES[Number(event.key) - 1];
  if (page) {
    if (pageNow() === "all") location.hash = page[0];
    else go(page[0]);
  } else if (event.key === "0") location.hash = "all";
  else if (event.key === "t") turnTheme();
  else if (event.key === "?") document.getElementById("help").showModal();
  else if (event.key === "/") {
    event.preventDefault();
    go("samples");
    setTimeout(() => document.getElementById("sample-search")?.focus(), 50);
  } else if (pageNow() === "samples" && samplesBox) {
    if (event.key === "[") samplesBox.moveStep?.(-1);
    if (event.key === "]") samplesBox.moveStep?.(1);
    if (event.key === "p") samplesBox.movePage?.(-1);
    if (event.key === "n") samplesBox.movePage?.(1);
  }
}

// ---- while a run goes on ----

const AGAIN = 5000; // milliseconds until the page loads itself again

function keepPlace() {
  try {
    sessionStorage.setItem("rlflow.place", JSON.stringify({ looking, scroll: scrollY, hidden: [...view.hidden] }));
  } catch {
    // then it begins at the top
  }
}

function takePlace() {
  try {
    const place = JSON.parse(sessionStorage.getItem("rlflow.place"));
    sessionStorage.removeItem("rlflow.place");
    if (!place) return 0;
    if (place.looking.run < report.runs.length) Object.assign(looking, place.looking);
    for (const run of place.hidden) view.hidden.add(run);
    return place.scroll;
  } catch {
    return 0;
  }
}

function loadAgain() {
  const busy = document.activeElement && /^(INPUT|SELECT)$/.test(document.activeElement.tagName);
  if (busy || document.hidden || view.range || document.querySelector("dialog[open]")) {
    setTimeout(loadAgain, AGAIN);
    return;
  }
  keepPlace();
  location.reload();
}

async function begin() {
  setTheme(kept.get("theme", null));
  nameRuns();
  document.title = titleText() + " – rlflow";
  await Promise.all(report.runs.flatMap((run, i) => [loadMetrics(run, i), loadRanks(run, i)]));
  const scroll = report.live ? takePlace() : 0;
  document.getElementById("page").append(header(), h("main", {}),
    h("footer", {}, `Written by rlflow ${report.version} at ${report.made.replace("T", " ").replace("Z", " UTC")}`), helpDialog(), h("div", { id: "token-tip", role: "status", hidden: true }));
  addEventListener("hashchange", () => show(pageNow()));
  addEventListener("keydown", onKey);
  addEventListener("beforeprint", () => {
    show("all");
    drawAll();
  });
  addEventListener("afterprint", () => show(pageNow()));
  show(pageNow());
  if (scroll) requestAnimationFrame(() => scrollTo(0, scroll));
  if (report.live) setTimeout(loadAgain, AGAIN);
  document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds
}

begin();
