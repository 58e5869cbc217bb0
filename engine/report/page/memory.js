// Memory: what was counted before the first step, beside what was taken.

const UNCOUNTED = 8 << 20; // bytes of what is too small to be counted by itself

// "ranks 0, 1, 4 to 7": numbers in words.
function groupWords(ranks, word = "rank") {
  const parts = [];
  for (let i = 0; i < ranks.length;) {
    let k = i;
    while (k + 1 < ranks.length && ranks[k + 1] === ranks[k] + 1) k++;
    parts.push(k > i ? `${ranks[i]}${k > i + 1 ? " to " : ", "}${ranks[k]}` : String(ranks[i]));
    i = k + 1;
  }
  const most = 6;
  return word + (ranks.length > 1 ? (word.endsWith("s") ? "es " : "s ") : " ") + parts.slice(0, most).join(", ") + (parts.length > most ? " and others" : "");
}

// The most of a column, of each rank over the steps after that one, of which a
// bin may have some; undefined: there is none.
function mostOf(run, name, after) {
  const value = run.ranks && run.ranks.column.get(name);
  if (!value) return undefined;
  const { n, first, last } = run.ranks;
  const whole = first.some((x) => x > after);
  const out = new Array(n).fill(0);
  value.forEach((x, i) => {
    const bin = Math.floor(i / n);
    if ((whole ? first[bin] : last[bin]) > after && x > out[i % n]) out[i % n] = x;
  });
  return out.some((x) => x > 0) ? out : undefined;
}

function sumOf(parts, key) {
  return parts.reduce((sum, part) => sum + (part[key] || 0), 0);
}

// Of what the steps leave on a rank until they end; the rest of its host memory
// is held outside of them.
function isOfSteps(part) {
  return part.owner === "step";
}

function range(list) {
  const low = Math.min(...list), high = Math.max(...list);
  return bytes(low) === bytes(high) ? bytes(high) : `${bytes(low)} to ${bytes(high)}`;
}

// [what, of whom, counted, taken of each]
function memoryRows(run, start) {
  const after = start.step || 0;
  const [device, step, process] = ["device", "step", "process"].map((name) => mostOf(run, "memory." + name, after));
  const rows = [];
  for (const group of start.memory) {
    const of = (list) => list && group.ranks.filter((r) => r < list.length).map((r) => list[r]);
    rows.push([groupWords(group.ranks), "device", sumOf(group.parts, "device"), of(device)]);
    rows.push([groupWords(group.ranks), "values of a step", sumOf(group.parts.filter(isOfSteps), "host"), of(step)]);
  }
  const processes = Math.max(1, (start.processes || []).length);
  const each = Math.max(1, Math.floor((start.ranks || 1) / processes));
  const own = start.device === "cpu";
  const alike = new Map(); // processes by what they take
  for (let p = 0; p < processes && process; p++) {
    const here = (rank) => Math.floor(rank / each) === p;
    const counted = start.memory.reduce((sum, group) => sum + group.ranks.filter(here).length *
      (sumOf(group.parts, "host") + (own ? sumOf(group.parts, "device") : 0)), 0);
    if (!(process[p * each] > 0)) continue;
    if (!alike.has(counted)) alike.set(counted, []);
    alike.get(counted).push(p);
  }
  for (const [counted, list] of alike) {
    rows.push([processes > 1 ? groupWords(list, "process") : "the process", own ? "all, at most" : "host, at most", counted, list.map((p) => process[p * each])]);
  }
  return rows;
}

function partsTable(group) {
  return h("details", {}, h("summary", { text: `What ${groupWords(group.ranks)} ${group.ranks.length > 1 ? "take" : "takes"}, part by part` }),
    h("div", { class: "scroll" }, h("table", { class: "numbers" },
      h("thead", {}, h("tr", {}, ["", "", "device", "host, at most"].map((x) => h("th", { scope: "col", text: x })))),
      h("tbody", {}, group.parts.map((part) => h("tr", {},
        h("th", { scope: "row", text: plain(part.owner) }), h("td", { text: plain(part.purpose) }),
        h("td", { text: part.device ? bytes(part.device) : "–" }), h("td", { text: part.host ? bytes(part.host) : "–" })))))));
}

function isCounted(start) {
  return start && Array.isArray(start.memory) && start.memory.length > 0 &&
    start.memory.every((g) => g && Array.isArray(g.ranks) && g.ranks.length > 0 && Array.isArray(g.parts) && g.parts.every((p) => p && typeof p === "object"));
}

function memoryTable(run) {
  const start = run.starts[run.starts.length - 1];
  if (!isCounted(start)) return null;
  const most = 40;
  const rows = memoryRows(run, start);
  return h("div", {}, h("h3", { text: run.name + ": memory" }),
    h("div", { class: "scroll" }, h("table", { class: "numbers" },
      h("thead", {}, h("tr", {}, ["", "", "counted", "taken", "taken / counted"].map((x) => h("th", { scope: "col", text: x })))),
      h("tbody", {}, rows.slice(0, most).map(([who, what, counted, taken]) => h("tr", {},
        h("th", { scope: "row", text: who }), h("td", { text: what }), h("td", { text: bytes(counted) }),
        h("td", { text: taken && taken.length ? range(taken) : "not known" }),
        h("td", { class: taken && Math.max(0, ...taken) > counted + UNCOUNTED ? "bad" : null, text: taken && taken.length && counted > 0 ? number(Math.max(...taken) / counted, 3) : "–" })))))),
    h("p", { class: "hint" }, "Counted is what each part takes of the device, and takes at most of the host; taken the most since the last start. ",
      "Values of a step are its sets and columns, and what expressions have on the way, when it ends; what is too small to be counted by itself, up to 8 MB, is with the program."),
    rows.length > most ? h("p", { class: "hint", text: `and ${many(rows.length - most, "row")} more` }) : null,
    start.memory.slice(0, most).map(partsTable));
}
