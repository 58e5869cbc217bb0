// Samples: chosen by step, set and prompt, searched, sorted, page by page; tokens
// in colours where they were recorded.

const PAGE = 40;

// What is looked at.
const looking = {
  run: 0, set: "", step: "latest", prompt: null, query: "", sort: "", down: true, page: 0, tokenColumn: 0,
};
let turn = 0; // of what is looked for: a later one ends those before
let samplesBox = null;

function showSamples(what) {
  Object.assign(looking, { set: "", step: "", prompt: null, query: "", page: 0 }, what);
  go("samples");
  drawSamples();
}

function samplesRun() {
  return report.runs[looking.run];
}

// Is it whether a hook gave a number at all: "judge.ok", "judge.ok.2"?
function isOk(name) {
  return /\.ok(\.\d+)?$/.test(name);
}

// Which numbers say how good a sample is, the best of them first: sets may have
// different ones.
function scoreColumns(run) {
  const names = run.samples.columns;
  const known = ["reward", "score", "rewards", "scores"].map((n) => names.indexOf(n));
  const like = names.map((n, i) => (/(^|[^a-z])(reward|score)/.test(n) && !isOk(n) ? i : -1));
  const hooks = names.map((n, i) => (names.includes(n.replace(/(\.\d+)?$/, ".ok$1")) ? i : -1));
  return [...new Set([...known, ...like, ...hooks])].filter((i) => i >= 0);
}

// The score of each sample: of the best column that has one; null: there is
// none. `scoreOf` has the place of that column in `scoreNames`.
async function loadScores(run) {
  if (run.scores !== undefined) return run.scores;
  const columns = scoreColumns(run);
  const out = columns.length ? (await loadNumbers(run, columns[0])).slice() : null;
  run.scoreOf = new Uint16Array(out ? out.length : 0);
  run.scoreNames = columns.map((column) => plain(run.samples.columns[column]));
  for (let k = 1; k < columns.length; k++) {
    const more = await loadNumbers(run, columns[k]);
    for (let i = 0; i < out.length; i++) {
      if (!Number.isNaN(out[i]) || Number.isNaN(more[i])) continue;
      out[i] = more[i];
      run.scoreOf[i] = k;
    }
  }
  run.scores = out;
  return out;
}

// The names of the scores of those samples that have one, each once.
function scoreNames(run, which) {
  const columns = new Set();
  for (const i of which) if (!Number.isNaN(run.scores[i])) columns.add(run.scoreOf[i]);
  return [...columns].map((k) => run.scoreNames[k]);
}

// ---- which ones ----

function chosen(run, whole) {
  const { step, set, prompt } = looking;
  const n = whole.step.length;
  const out = new Uint32Array(n);
  const wantStep = step === "" ? -1 : Number(step);
  const wantSet = set === "" ? -1 : Number(set);
  let k = 0;
  for (let i = 0; i < n; i++) {
    if (wantStep >= 0 && whole.step[i] !== wantStep) continue;
    if (wantSet >= 0 && whole.set[i] !== wantSet) continue;
    if (prompt !== null && whole.prompt[i] !== prompt) continue;
    out[k++] = i;
  }
  return out.subarray(0, k);
}

function hasText(line, query) {
  try {
    const sample = JSON.parse(line);
    const row = sample.row ? Object.values(sample.row).map(String) : [];
    return [sample.prompt, sample.response, ...row].some((t) => String(t).toLowerCase().includes(query));
  } catch {
    return false;
  }
}

// Of the samples those that have the text, block by block; `tell` hears how far
// it is. null: something else is looked for by now.
async function searchTexts(run, which, query, mine, tell) {
  const low = query.toLowerCase();
  const needle = JSON.stringify(low).slice(1, -1);
  const out = [];
  for (let at = 0; at < which.length;) {
    const block = blockOf(run, which[at]);
    const first = run.samples.blocks[block];
    const next = run.samples.blocks[block + 1] ?? Infinity;
    const text = await unpackText(`lines-${run.number}-${block}`);
    if (mine !== turn) return null;
    const may = text.toLowerCase().includes(needle) || /\\u/.test(text) || /\\\//.test(text);
    const lines = may ? text.split("\n") : [];
    for (; at < which.length && which[at] < next; at++) {
      const line = lines[which[at] - first];
      if (line && hasText(line, low)) out.push(which[at]);
    }
    tell(at / which.length, out.length);
  }
  return Uint32Array.from(out);
}

async function sorted(run, which) {
  if (looking.sort === "") return which;
  const numbers = await loadNumbers(run, Number(looking.sort));
  const sign = looking.down ? -1 : 1;
  return Uint32Array.from(which).sort((a, b) => {
    const x = numbers[a], y = numbers[b];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
    return sign * (x - y) || a - b;
  });
}

// ---- the tools ----

function stepTools(run, whole) {
  const steps = [...new Set(whole.step)].sort((a, b) => a - b);
  const move = (by) => {
    const at = looking.step === "" ? (by > 0 ? -1 : steps.length) : steps.indexOf(Number(looking.step));
    const to = Math.max(0, Math.min(steps.length - 1, at + by));
    change({ step: steps[to] });
  };
  samplesBox.moveStep = move;
  const list = steps.length > 2000 ? null : [["", "all steps"], ...steps.map((x) => [x, "step " + x])];
  const input = list ? choice("Step", list, looking.step, (value) => change({ step: value }))
    : h("label", { class: "field" }, h("span", { text: "Step" }), h("input", {
      type: "number", min: steps[0], max: steps[steps.length - 1], value: looking.step, placeholder: "all",
      onchange: (e) => change({ step: e.target.value === "" ? "" : Number(e.target.value) }),
    }));
  return h("div", { class: "joined" },
    h("button", { type: "button", "aria-label": "Step before", title: "Step before ([)", text: "‹", onclick: () => move(-1) }), input,
    h("button", { type: "button", "aria-label": "Next step", title: "Next step (])", text: "›", onclick: () => move(1) }));
}

function change(what) {
  Object.assign(looking, { page: 0 }, what);
  drawSamples();
}

function sampleTools(run, whole) {
  const search = h("input", {
    type: "search", id: "sample-search", placeholder: "Text in prompts and responses", "aria-label": "Text in prompts and responses",
    onchange: () => change({ query: search.value }),
  });
  search.value = looking.query;
  const columns = run.samples.columns;
  return h("div", { class: "tools" },
    report.runs.length > 1 ? choice("Run", report.runs.map((r) => [r.number, r.name]), looking.run,
      (value) => change({ run: Number(value), set: "", step: "", prompt: null, sort: "" })) : null,
    stepTools(run, whole),
    run.samples.sets.length > 1 ? choice("Set", [["", "all sets"], ...run.samples.sets.map((name, i) => [i, plain(name)])],
      looking.set, (value) => change({ set: value })) : null,
    search,
    h("div", { class: "joined" },
      choice("Sort by", [["", "order"], ...columns.map((name, i) => [i, plain(name)])], looking.sort, (value) => change({ sort: value })),
      h("button", {
        type: "button", "aria-label": looking.down ? "Greatest first" : "Least first", title: looking.down ? "Greatest first" : "Least first",
        text: looking.down ? "↓" : "↑", disabled: looking.sort === "", onclick: () => change({ down: !looking.down }),
      })),
    tokenTools(run),
    looking.prompt !== null || looking.query || looking.step !== "" || looking.set !== "" ? h("button", {
      type: "button", class: "quiet", text: "Show all", onclick: () => change({ prompt: null, query: "", step: "", set: "" }),
    }) : null);
}

// ---- one sample ----

function numberChips(run, sample) {
  const out = h("div", { class: "chips" });
  const put = (name, x) => out.append(h("span", { class: "chip" }, shown(name), " ", h("b", { text: number(x, 4) })));
  for (const [name, x] of Object.entries(sample.values || {})) {
    if (typeof x === "number" && !(isOk(name) && x === 1)) put(name, x);
  }
  if (typeof sample.tokens === "number") put("tokens", sample.tokens);
  if (sample.finished === 0) out.append(h("span", { class: "chip bad", text: "cut off" }));
  if (sample.lag > 0) put("lag", sample.lag);
  return out;
}

// A text that is folded where it is long.
function longText(text, cls, marks) {
  const most = 1500;
  const out = shownIn("div", { class: cls }, text.length > most ? text.slice(0, most) + "…" : text, marks);
  if (!text) out.append(h("span", { class: "muted", text: "(nothing)" }));
  if (text.length > most) {
    out.append(h("button", {
      type: "button", class: "link", text: `all ${text.length.toLocaleString("en")} characters`,
      onclick: () => out.replaceWith(shownIn("div", { class: cls }, text, marks)),
    }));
  }
  return out;
}

function rowFields(sample) {
  const fields = Object.entries(sample.row || {});
  if (!fields.length) return null;
  return h("div", { class: "fields" }, fields.map(([name, value]) => h("span", { class: "from-row" }, shown(name), ": ",
    shownIn("span", {}, typeof value === "string" ? value : JSON.stringify(value)), " ")));
}

function sampleCard(run, whole, i, sample, tokens, scores, range) {
  const score = scores ? scores[i] : NaN;
  const part = range && range[1] > range[0] ? 2 * (score - range[0]) / (range[1] - range[0]) - 1 : NaN;
  const strip = tokens ? h("div", { class: "strip tokens", dir: "auto" }) : null;
  if (tokens) drawStrip(strip, run, tokens);
  return h("div", { class: "sample", style: { "--score": Number.isFinite(part) ? heat(part) : "var(--line)" } },
    sample.broken ? h("p", { class: "bad", text: "This sample cannot be read." }) : null,
    strip || longText(sample.response || "", "response", looking.query),
    numberChips(run, sample));
}

// Samples of one prompt that follow each other, below it.
function promptCard(run, whole, i, sample, again) {
  const set = run.samples.sets[whole.set[i]];
  return h("div", { class: "prompt-head" },
    h("div", { class: "where" }, `step ${whole.step[i]}`, run.samples.sets.length > 1 ? [", ", shown(set)] : null,
      `, sample ${whole.sample[i]}`,
      looking.prompt === null ? h("button", {
        type: "button", class: "link", text: "this prompt through training",
        onclick: () => change({ prompt: whole.prompt[i], step: "", query: "", sort: "" }),
      }) : null),
    again ? null : [longText(sample.prompt || "", "prompt", looking.query), rowFields(sample)]);
}

// ---- tokens ----

// The greatest number of each column so far, by which colours are scaled: one
// sample beside another is seen as it is.
function scaleOf(run, column, values) {
  run.tokenScale ||= [];
  let most = run.tokenScale[column] || 0;
  for (const x of values) if (x !== null) most = Math.max(most, Math.abs(x));
  run.tokenScale[column] = most;
  return most || 1;
}

function tokenTools(run) {
  const names = run.tokens.columns;
  if (!run.tokens.blocks.length || !names.length) return null;
  return h("div", { class: "joined" },
    choice("Colour tokens by", names.map((name, i) => [i, plain(name)]), looking.tokenColumn, (value) => {
      looking.tokenColumn = Number(value);
      paintStrips(document);
    }),
    h("span", { class: "scale", id: "token-scale", title: "The colours, from the least to the greatest that was seen" }));
}

// What the ends of the colours stand for.
function tellScale(run) {
  const scale = document.getElementById("token-scale");
  const most = (run.tokenScale || [])[looking.tokenColumn];
  if (!scale) return;
  clear(scale);
  if (most) scale.append(number(-most, 2), h("i", {}), number(most, 2));
}

function tokenTip(element, run, tokens, k) {
  const tip = document.getElementById("token-tip");
  const text = tokens.text[k];
  const isBytes = text && typeof text === "object";
  clear(tip).append(h("b", {}, isBytes ? "bytes " + text.x : shown(JSON.stringify(text ?? ""))), h("span", { class: "muted", text: ` token ${tokens.id[k]}, place ${k}` }),
    h("dl", {}, run.tokens.columns.map((name, c) => (tokens.columns[c] ? h("div", {}, h("dt", {}, shown(name)),
      h("dd", { text: number(tokens.columns[c][k] ?? NaN, 5) })) : null))));
  const box = element.getBoundingClientRect();
  tip.hidden = false;
  tip.style.left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8)) + "px";
  const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
  tip.style.top = (below ? box.bottom + 6 : box.top - tip.offsetHeight - 6) + "px";
}

function hideTokenTip() {
  document.getElementById("token-tip").hidden = true;
}

// The whole tokens of a sample, one element each.
function drawStrip(strip, run, tokens) {
  tokens.columns.forEach((values, c) => values && scaleOf(run, c, values));
  tokens.id.forEach((id, k) => {
    const text = tokens.text[k];
    const isBytes = text && typeof text === "object";
    const tell = (e) => tokenTip(e.target.closest(".token"), run, tokens, k);
    strip.append(h("span", {
      class: "token" + (isBytes ? " bytes" : ""), tabindex: k ? -1 : 0,
      onpointerenter: tell, onfocus: tell, onpointerleave: hideTokenTip, onblur: hideTokenTip,
      onkeydown: (e) => {
        const to = { ArrowRight: "nextSibling", ArrowLeft: "previousSibling" }[e.key];
        if (to && e.target[to]) { e.target[to].focus(); e.preventDefault(); }
      },
    }, isBytes ? text.x : text === undefined ? "·" + id : shown(text.replace(/\n/g, "⏎\n"))));
  });
  const paint = () => {
    const values = tokens.columns[looking.tokenColumn] || tokens.columns.find((c) => c) || [];
    const column = tokens.columns.indexOf(values);
    const most = (run.tokenScale || [])[column] || 1;
    [...strip.children].forEach((element, k) => { const part = (values[k] ?? NaN) / most;
      element.style.background = heat(Math.sign(part) * Math.sqrt(Math.abs(part))); });
  };
  strip.addEventListener("paint", paint);
}

// Once all strips of a page are there they have one scale.
function paintStrips(list) {
  tellScale(samplesRun());
  for (const strip of list.querySelectorAll(".strip")) strip.dispatchEvent(new CustomEvent("paint"));
}

// ---- one prompt through training ----

async function throughTraining(run, whole, which) {
  const out = h("figure", { class: "wide" });
  const numbers = await loadScores(run);
  if (!numbers || which.length < 2) return null;
  const width = 900, height = 130, left = 48, bottom = 106;
  let low = Infinity, high = -Infinity;
  for (const i of which) {
    if (numbers[i] < low) low = numbers[i];
    if (numbers[i] > high) high = numbers[i];
  }
  if (!(low <= high)) return null;
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const first = whole.step[which[0]];
  const last = Math.max(first + 1, whole.step[which[which.length - 1]]);
  const x = (step) => left + 8 + (step - first) / (last - first) * (width - left - 24);
  const y = (value) => bottom - (value - low) / (high - low) * (bottom - 16);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "bars", role: "img", "aria-label": "Scores of this prompt by step" });
  for (const t of ticks(low, high, 3)) {
    svg.append(s("line", { class: "grid", x1: left, x2: width, y1: y(t), y2: y(t) }),
      s("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end", text: number(t, 3) }));
  }
  for (const t of ticks(first, last, 8)) svg.append(s("text", { x: x(t), y: height - 6, "text-anchor": "middle", text: String(t) }));
  const at = new Map();
  for (const i of which) {
    if (Number.isNaN(numbers[i])) continue;
    const key = whole.step[i] + " " + numbers[i];
    const k = at.get(key) || 0;
    at.set(key, k + 1);
    svg.append(s("circle", { cx: x(whole.step[i]) + 3 * k, cy: y(numbers[i]), r: 4, class: "dot" },
      s("title", { text: `step ${whole.step[i]}: ${number(numbers[i])}` })));
  }
  out.append(h("figcaption", {}, scoreNames(run, which).join(", "), " of the answers to this prompt, by step"), svg);
  return out;
}

// ---- the page ----

async function drawSamples() {
  const box = samplesBox;
  if (!box) return;
  const mine = ++turn;
  const run = samplesRun();
  if (!run.samples.n) {
    clear(box.tools);
    if (report.runs.length > 1) {
      box.tools.append(choice("Run", report.runs.map((r) => [r.number, r.name]), looking.run, (value) => change({ run: Number(value) })));
    }
    clear(box.list).append(h("p", { class: "empty", text: "No samples were written (--samples)." }));
    return;
  }
  box.list.setAttribute("aria-busy", "true");
  const whole = await loadWhole(run);
  if (mine !== turn) return;
  if (looking.step === "latest") looking.step = whole.step[whole.step.length - 1];
  const focused = document.activeElement?.getAttribute("aria-label");
  clear(box.tools).append(sampleTools(run, whole));
  if (focused) box.tools.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  let which = chosen(run, whole);
  if (looking.query) {
    which = await searchTexts(run, which, looking.query, mine, (part, found) => {
      box.status.textContent = `searched ${Math.round(100 * part)} %, ${many(found, "sample")} found`;
    });
    if (!which || mine !== turn) return;
  }
  which = await sorted(run, which);
  if (mine !== turn) return;
  await drawPage(box, run, whole, which, mine);
}

function pager(which) {
  const pages = Math.ceil(which.length / PAGE);
  if (pages < 2) return null;
  const to = (page) => { looking.page = page; drawSamples(); samplesBox.list.scrollIntoView({ block: "start" }); };
  samplesBox.movePage = (by) => to(Math.max(0, Math.min(pages - 1, looking.page + by)));
  return h("div", { class: "pager" },
    h("button", { type: "button", text: "‹ before", disabled: looking.page === 0, onclick: () => to(looking.page - 1) }),
    h("span", { text: `page ${looking.page + 1} of ${pages.toLocaleString("en")}` }),
    h("button", { type: "button", text: "next ›", disabled: looking.page >= pages - 1, onclick: () => to(looking.page + 1) }));
}

async function drawPage(box, run, whole, which, mine) {
  const from = looking.page * PAGE;
  const some = [...which.subarray(from, from + PAGE)];
  const scores = await loadScores(run);
  const samples = await Promise.all(some.map((i) => loadSample(run, i)));
  const tokens = await Promise.all(some.map((i) => {
    const place = tokensOf(run, { step: whole.step[i], sample: whole.sample[i], set: run.samples.sets[whole.set[i]] });
    return place ? loadTokens(run, place) : null;
  }));
  const history = looking.prompt !== null && !looking.query ? await throughTraining(run, whole, which) : null;
  if (mine !== turn) return;
  let range = null;
  if (scores) {
    range = [Infinity, -Infinity];
    for (const i of which) {
      if (scores[i] < range[0]) range[0] = scores[i];
      if (scores[i] > range[1]) range[1] = scores[i];
    }
  }
  box.status.textContent = many(which.length, "sample") + recorded(run, whole, which) + summary(run, whole, which, scores);
  clear(box.list).append(history || "");
  let card = null;
  some.forEach((i, k) => {
    const same = k && whole.prompt[i] === whole.prompt[some[k - 1]] && whole.step[i] === whole.step[some[k - 1]] &&
      whole.set[i] === whole.set[some[k - 1]];
    if (!same) {
      card = h("article", { class: "card prompt-card" }, promptCard(run, whole, i, samples[k], k && whole.prompt[i] === whole.prompt[some[k - 1]]));
      box.list.append(card);
    }
    card.append(sampleCard(run, whole, i, samples[k], tokens[k], scores, range));
  });
  if (!some.length) {
    box.list.append(h("p", { class: "empty" }, "No sample is so. ", looking.query && looking.step !== "" ? h("button", {
      type: "button", class: "link", text: "Search all steps", onclick: () => change({ step: "", set: "" }),
    }) : null));
  }
  clear(box.pager).append(pager(which) || "");
  paintStrips(box.list);
  box.list.removeAttribute("aria-busy");
}

// Of how many samples those that are shown were recorded, where these are whole
// steps of sets.
function recorded(run, whole, which) {
  if (looking.query || looking.prompt !== null) return "";
  const seen = new Set();
  let all = 0;
  for (const i of which) {
    const key = whole.step[i] + " " + whole.set[i];
    if (!whole.of[i]) return "";
    if (!seen.has(key)) all += whole.of[i];
    seen.add(key);
  }
  return all > which.length ? ` recorded of ${all.toLocaleString("en")} (rlflow run --samples N records more)` : "";
}

// The mean score of those that are shown, of each set that has one and of each
// number that is one.
function summary(run, whole, which, scores) {
  if (!scores || !which.length) return "";
  const means = new Map();
  for (const i of which) {
    if (Number.isNaN(scores[i])) continue;
    const key = whole.set[i] + " " + run.scoreOf[i];
    const mean = means.get(key) || { set: whole.set[i], name: run.scoreNames[run.scoreOf[i]], sum: 0, n: 0 };
    mean.sum += scores[i];
    mean.n++;
    means.set(key, mean);
  }
  return [...means.values()].map(({ set, name, sum, n }) => `, ${name} ${number(sum / n)} on average of these` +
    (run.samples.sets.length > 1 ? ` ${n} of ${plain(run.samples.sets[set])}` : "")).join("");
}

function samplesPage() {
  samplesBox = {
    tools: h("div", {}), status: h("p", { class: "status", role: "status" }), list: h("div", { class: "samples" }), pager: h("div", {}),
  };
  if (!samplesRun().samples.n) looking.run = Math.max(0, report.runs.findIndex((run) => run.samples.n));
  drawSamples();
  return h("section", { class: "page" }, samplesBox.tools, samplesBox.status, samplesBox.list, samplesBox.pager);
}
