// The data of the report: facts and curves at once, samples when somebody looks.

const report = JSON.parse(document.getElementById("report-data").textContent);

// ---- packed bytes ----

// The element of that id, which may stand in a part of the file that is not read
// yet; null: there is none.
async function elementThere(id) {
  for (;;) {
    const element = document.getElementById(id);
    if (element && (element.nextSibling || document.readyState !== "loading")) return element;
    if (document.readyState !== "loading") return null;
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

async function unpack(id) {
  const element = await elementThere(id);
  if (!element) return new ArrayBuffer(0);
  const stream = new Blob([fromBase64(element.textContent)])
    .stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

async function unpackText(id) {
  return new TextDecoder().decode(await unpack(id));
}

function addUp(differences) {
  let sum = 0;
  for (let i = 0; i < differences.length; i++) {
    sum = (sum + differences[i]) >>> 0;
    differences[i] = sum;
  }
  return differences;
}

// ---- metrics ----

async function loadMetrics(run, number) {
  const buffer = await unpack("metrics-" + number);
  let at = 0;
  for (const m of run.metrics) {
    m.value = new Float64Array(buffer, at, m.n);
    at += 8 * m.n;
  }
  run.metrics.forEach((m, i) => {
    if (m.steps !== i) {
      m.step = run.metrics[m.steps].step;
      return;
    }
    m.step = addUp(new Uint32Array(buffer, at, m.n));
    at += 4 * m.n;
  });
  run.metric = new Map(run.metrics.map((m) => [m.name, m]));
  deriveMetrics(run);
}

// ---- ranks ----

// What each rank did with its time, by column: a number of each bin of steps
// and rank, NaN where the bin has none.
async function loadRanks(run, number) {
  const r = run.ranks;
  if (!r) return;
  const buffer = await unpack("ranks-" + number);
  const ends = new Uint32Array(buffer, 0, 2 * r.bins);
  r.first = ends.filter((x, i) => i % 2 === 0);
  r.last = ends.filter((x, i) => i % 2 === 1);
  r.column = new Map(r.columns.map((name, i) =>
    [name, new Float32Array(buffer, 4 * (2 * r.bins + i * r.bins * r.n), r.bins * r.n)]));
}

// Tokens a second, which are shown and not recorded.
function deriveMetrics(run) {
  const tokens = run.metric.get("tokens");
  const took = run.metric.get("seconds");
  if (!tokens || !took || tokens.step !== took.step) return;
  const speed = {
    name: "tokens per second",
    n: tokens.n,
    step: tokens.step,
    value: tokens.value.map((x, i) => x / took.value[i]),
    derived: true,
  };
  run.metrics.push(speed);
  run.metric.set(speed.name, speed);
}

// ---- samples ----

// Columns of whole numbers, in the order of the file.
const WHOLE = ["step", "set", "group", "prompt", "sample", "of"];

async function loadWhole(run) {
  if (!run.whole) {
    run.whole = (async () => {
      const out = {};
      for (let k = 0; k < WHOLE.length; k++) {
        const buffer = await unpack(`whole-${run.number}-${k}`);
        out[WHOLE[k]] = addUp(new Uint32Array(buffer));
      }
      return out;
    })();
  }
  return run.whole;
}

async function loadNumbers(run, column) {
  run.numbers ||= [];
  run.numbers[column] ||= unpack(`number-${run.number}-${column}`)
    .then((buffer) => new Float32Array(buffer));
  return run.numbers[column];
}

// The block of sample i.
function blockOf(run, i) {
  const first = run.samples.blocks;
  let low = 0;
  let high = first.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (first[middle] <= i) low = middle;
    else high = middle;
  }
  return low;
}

const BLOCKS_KEPT = 24;

// The lines of a block, the latest of which are kept.
async function loadBlock(run, block) {
  run.blocks ||= new Map();
  let lines = run.blocks.get(block);
  run.blocks.delete(block);
  lines ||= unpackText(`lines-${run.number}-${block}`).then((text) => text.split("\n"));
  run.blocks.set(block, lines);
  if (run.blocks.size > BLOCKS_KEPT) run.blocks.delete(run.blocks.keys().next().value);
  return lines;
}

async function loadSample(run, i) {
  const block = blockOf(run, i);
  const lines = await loadBlock(run, block);
  try {
    return JSON.parse(lines[i - run.samples.blocks[block]]);
  } catch {
    return { prompt: "", response: "", broken: true };
  }
}

// ---- tokens ----

// Where the tokens of a sample are: [block, number in it], or undefined.
function tokensOf(run, sample) {
  if (!run.tokenIndex) {
    run.tokenIndex = new Map();
    run.tokens.blocks.forEach((block, b) => block.samples.forEach((n, i) =>
      run.tokenIndex.set(block.step + " " + n + " " + block.set, [b, i])));
  }
  return run.tokenIndex.get(sample.step + " " + sample.sample + " " + sample.set);
}

async function loadTokens(run, place) {
  run.tokenBlocks ||= [];
  run.tokenBlocks[place[0]] ||= unpackText(`tokens-${run.number}-${place[0]}`)
    .then((text) => text.split("\n"));
  const line = (await run.tokenBlocks[place[0]])[place[1]];
  return line ? JSON.parse(line) : null;
}

// ---- names ----

function baseName(path) {
  return path.replace(/\/+$/, "").replace(/.*\//, "") || path;
}

// Runs are called by the last part of their directories, or by all of it where
// two have the same.
function nameRuns() {
  report.runs.forEach((run, i) => {
    run.number = i;
    const name = baseName(run.directory);
    const same = report.runs.some((r, k) => k !== i && baseName(r.directory) === name);
    run.name = plain(same ? run.directory : name);
  });
}
