// What all parts of the page use: elements, texts, numbers, colours.
"use strict";

// ---- elements ----

// An element: tag, properties (on..., class, text, aria-..., data-..., style as
// an object), children. Text is put in as text, never as HTML.
function build(element, properties, children) {
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") element.textContent = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") {
      for (const [name, to] of Object.entries(value)) element.style.setProperty(name, to);
    } else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function h(tag, properties, ...children) {
  return build(document.createElement(tag), properties, children);
}

function s(tag, properties, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function clear(element) {
  element.replaceChildren();
  return element;
}

// A choice of [value, words]; `change` gets the value.
function choice(label, rows, value, change) {
  const select = h("select", { "aria-label": label, onchange: () => change(select.value) });
  for (const [is, words] of rows) select.append(h("option", { value: is, text: words }));
  select.value = value;
  return h("label", { class: "field" }, h("span", { text: label }), select);
}

function check(label, value, change, title) {
  const box = h("input", { type: "checkbox", onchange: () => change(box.checked) });
  box.checked = value;
  return h("label", { class: "field check", title }, box, h("span", { text: label }));
}

// ---- texts of runs, which may be anything ----

// Characters that are not seen, or that turn the order of others around.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// The text as nodes: what is unseen is written as its number. `marks`: a text
// whose places are marked.
function shown(text, marks) {
  const out = document.createDocumentFragment();
  const put = (piece) => {
    let from = 0;
    for (const match of piece.matchAll(UNSEEN)) {
      out.append(piece.slice(from, match.index));
      const code = match[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
      out.append(h("span", { class: "unseen", title: "U+" + code, text: code }));
      from = match.index + match[0].length;
    }
    out.append(piece.slice(from));
  };
  let from = 0;
  const low = marks ? text.toLowerCase() : "";
  const what = marks ? marks.toLowerCase() : "";
  // A letter whose small form is longer would move all places behind it.
  const places = what && low.length === text.length ? low.indexOf(what) : -1;
  for (let at = places; at >= 0; at = low.indexOf(what, from)) {
    put(text.slice(from, at));
    out.append(h("mark", {}, text.slice(at, at + what.length)));
    from = at + what.length;
  }
  put(text.slice(from));
  return out;
}

// In an element of its own, so that its direction ends with it.
function shownIn(tag, properties, text, marks) {
  const element = h(tag, { dir: "auto", ...properties });
  element.append(shown(text, marks));
  return element;
}

// The same as a plain text, for titles and labels.
function plain(text) {
  return String(text).replace(
    UNSEEN,
    (c) => "[" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "]");
}

// ---- numbers ----

function number(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  if (Number.isNaN(x)) return "not finite";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-12) digits = 2; // a zero that was rounded
  if (size >= 1e6 || size < 1e-4) {
    return x.toExponential(digits - 2).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  const text = x.toPrecision(digits);
  return text.includes("e") ? String(Math.round(x))
    : text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function seconds(x) {
  if (!(x >= 0)) return "–";
  if (x < 1) return number(1000 * x, 3) + " ms";
  if (x < 120) return number(x, 3) + " s";
  const minutes = Math.floor(x / 60);
  if (minutes < 120) return minutes + " min " + Math.floor(x % 60) + " s";
  return Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}

function bytes(x) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; x >= 1024 && unit < 4; unit++) x /= 1024;
  return number(x, 3) + " " + units[unit];
}

function many(n, word) {
  return n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");
}

// Whole numbers times a power of ten, about `count` of them.
function ticks(low, high, count) {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const times = span / count / power;
  const step = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++) {
    out.push(Number((i * step).toPrecision(12)));
  }
  return out;
}

// ---- colours ----

// Of runs: told apart with every kind of sight, in light and dark.
function runColor(i) {
  return "var(--run-" + (i % 8) + ")";
}

// Runs beyond the colours have them again, with other dashes; null: none.
const DASHES = [null, "7 3", "2 3", "10 3 2 3", "4 6", "12 4", "1 5", "7 2 1 2"];

function runDash(i) {
  return DASHES[Math.floor(i / 8) % DASHES.length];
}

// The same as the background of a small box.
function runMark(i) {
  const dash = runDash(i);
  if (!dash) return runColor(i);
  const parts = [];
  let at = 0;
  dash.split(" ").forEach((n, k) => {
    parts.push(`${k % 2 ? "transparent" : runColor(i)} ${at}px ${at + Number(n)}px`);
    at += Number(n);
  });
  return `repeating-linear-gradient(90deg, ${parts.join(", ")})`;
}

// A number as a colour between two: -1 .. 1; NaN: none.
function heat(x) {
  if (!Number.isFinite(x)) return "transparent";
  const part = Math.min(1, Math.abs(x));
  return `color-mix(in srgb, var(${x < 0 ? "--low" : "--high"}) ${Math.round(72 * part)}%, transparent)`;
}

// ---- what the reader has chosen, kept from load to load ----

const kept = {
  get(key, otherwise) {
    try {
      const text = localStorage.getItem("rlflow." + key);
      return text === null ? otherwise : JSON.parse(text);
    } catch {
      return otherwise;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem("rlflow." + key, JSON.stringify(value));
    } catch {
      // a browser that keeps nothing for files
    }
  },
};
