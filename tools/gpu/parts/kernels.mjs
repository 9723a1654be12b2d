// The time of each hot kernel on true shapes, as bytes and operations per second beside the ceilings; slowest first. Those predicted to be slow are
// measured first. The cases run in a process of their own: a crash costs its case.
import { fileURLToPath } from 'node:url';
import { attentionName, floats, productName, productOf, withAttention, withWeights } from './cases.mjs';
import { ceilingsOf } from './ceilings.mjs';
import { withDevice } from './device.mjs';
import { endingOf, errorText, runScript, sendToParent } from './processes.mjs';
import {
  machineOf,
  patience,
  readResults,
  saveUnfinished,
  secondsLeft,
  small,
  writeResults,
} from './setting.mjs';
import { secondsOfOp } from './timing.mjs';
import { loadOnes } from './weights.mjs';

const formats = ['bf16', 'q4_k', 'q8_0', 'f16', 'q6_k', 'mxfp4', 'iq8', 'gptq'];
const matrices = small
  ? [[64, 256]]
  : [
      [4096, 4096],
      [14336, 4096],
      [4096, 14336],
      [128256, 4096],
    ];
const productRows = small ? [1, 16] : [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 2048];
/** The output matrix meets one row per sequence, never a whole prompt. */
const maxOutputRows = 256;
/** With precision 'exact' too: matrices of layers. */
const exactRows = small ? [16] : [16, 2048];
const exactMatrices = matrices.slice(0, 3);

/** Predicted under 70 % of their ceilings, by counts of instructions and bytes (docs/cuda.md). */
const predictedSlow = [
  /^linear q4_k [1248]×\[(4096|14336)×4096\]$/,
  /^linear q6_k [18]×\[14336×4096\]$/,
  /^linear (bf16|q4_k) (16|64|128|256)×\[(4096|14336)×4096\]$/,
  /^linear (bf16|q4_k) 2048×\[14336×4096\]$/,
  /^attention f16 1 × (512|2048) rows/,
  /^attention f16 (1|16|64) × 1 rows, depth (1024|8192)$/,
  /^(swiglu|add|rmsNorm) (64|2048)×/,
  /^(sample|argmax) /,
];
const isPredictedSlow = (name) => predictedSlow.some((pattern) => pattern.test(name));

/** Of a process: the cases that this pass takes, without those that processes before it have met. */
let takes = () => true;
const met = new Set((readResults('kernels')?.kernels ?? []).map(({ name }) => name));
const isWanted = (name) => !met.has(name) && takes(name);

const minSeconds = 4 * patience;

/** Whether there is time for a case or a group of cases; otherwise it is named. */
function timeFor(name) {
  if (secondsLeft() >= minSeconds) return true;
  sendToParent({ skipped: name });
  return false;
}

/** Measures one case unless the time is up. `work`: { bytes, flops }. */
async function measure(backend, name, work, record) {
  if (!isWanted(name) || !timeFor(name)) return;
  met.add(name);
  sendToParent({ begins: name });
  await orFailed(name, async () =>
    sendToParent({ name, ...work, seconds: await secondsOfOp(backend, record) }),
  );
}

/** A failure of `act` is a result; after one of the device the process ends, and the next one goes on. */
async function orFailed(name, act) {
  try {
    await act();
  } catch (error) {
    met.add(name);
    sendToParent({ name, failed: errorText(error) });
    if (error.code === 'DEVICE_FAILED') process.exit(1);
  }
}

/** `label`: at the end of names, such as ', exact'. */
async function measureProducts(backend, format, [N, K], rows, label = '') {
  const nameOf = (count) => productName(format, [N, K], count) + label;
  const wanted = rows.filter((T) => isWanted(nameOf(T)) && !(N > 100_000 && T > maxOutputRows));
  if (wanted.length === 0 || met.has(nameOf('…')) || !timeFor(nameOf('…'))) return;
  await orFailed(nameOf('…'), () =>
    withWeights(backend, format, [N, K], async (weights) => {
      for (const T of wanted) {
        const { work, record } = productOf(backend, weights, [N, K], T);
        await measure(backend, nameOf(T), work, record);
      }
    }),
  );
}

const decodes = small
  ? [[1, 64]]
  : [
      [1, 1024],
      [1, 8192],
      [1, 32768],
      [16, 1024],
      [16, 8192],
      [64, 1024],
      [64, 8192],
    ];
const prompts = small
  ? [[16, 0]]
  : [
      [512, 0],
      [2048, 0],
      [512, 8192],
      [512, 32256],
    ];
const measureAttention = (backend, dtype, shape) =>
  withAttention(backend, dtype, shape, ({ work, record }) =>
    measure(backend, attentionName(dtype, shape), work, record),
  );

/** Attention of an encoder: texts of `rows` tokens. */
async function measureEncoder(backend, { texts, rows, H, d }) {
  const T = texts * rows;
  const config = { heads: H, kvHeads: H, headDim: d, scale: d ** -0.5, causal: false, bf16: true };
  const record = {
    prepare: (step) => ({
      q: step.input(floats(T * H * d), [T, H, d]),
      batch: { cuSeqlens: step.input(Int32Array.from({ length: texts + 1 }, (_, i) => i * rows)) },
    }),
    op: (_, { q, batch }) => backend.uncachedAttention(q, q, q, batch, config),
  };
  const work = { bytes: 16 * T * H * d, flops: 4 * T * H * d * rows };
  await measure(backend, `uncachedAttention ${texts} × ${rows}, ${H} heads of ${d}`, work, record);
}

async function measureRows(backend, T) {
  const D = small ? 256 : 4096;
  const F = small ? 512 : 14336;
  const w = await loadOnes(backend, D);
  const of = (columns) => (step) => step.input(floats(T * columns), [T, columns]);
  const pass = (columns, arrays) => ({
    bytes: 4 * T * columns * arrays,
    flops: 4 * T * columns,
    sameOperands: true,
  });
  await measure(backend, `rmsNorm ${T}×${D}`, pass(D, 2), {
    prepare: of(D),
    op: (_, x) => backend.rmsNorm(x, w, { eps: 1e-5 }),
  });
  await measure(backend, `swiglu ${T}×${F}`, pass(F, 2), {
    prepare: of(F),
    op: (_, x) => backend.swiglu(x, x),
  });
  await measure(backend, `add ${T}×${D}`, pass(D, 2), { prepare: of(D), op: (_, x) => backend.add(x, x) });
  w.dispose();
}

async function measureChoice(backend, S) {
  const V = small ? 512 : 128256;
  const logits = (step) => step.input(floats(S * V), [S, V]);
  const once = { bytes: 4 * S * V, flops: S * V, sameOperands: true };
  await measure(backend, `argmax ${S}×${V}`, once, { prepare: logits, op: (_, x) => backend.argmax(x) });
  const row = [0.8, 40, 0.95, Math.log(0.05)];
  await measure(backend, `sample ${S}×${V}`, once, {
    prepare: (step) => ({
      x: logits(step),
      settings: step.input(
        Float32Array.from({ length: 4 * S }, (_, i) => row[i % 4]),
        [S, 4],
      ),
      random: step.input(
        Int32Array.from({ length: 2 * S }, (_, i) => i * 7919),
        [S, 2],
      ),
      draws: step.input(Int32Array.from({ length: S }, (_, i) => i)),
    }),
    op: (_, { x, settings, random, draws }) => backend.sample(x, settings, random, draws),
  });
}

const found = { machine: undefined, ceilings: undefined, kernels: [], skipped: [], problems: [] };

/** Of the second cache, where the probe found nothing: an H100 has 50 MB. */
const usualCacheBytes = 50e6;

/** Shares of the ceilings; the larger one judges a kernel. None where all ops read the same operands, which stay in the cache. */
function withShares({ sameOperands, ...one }) {
  if (one.failed) return one;
  const { copyBandwidth, bf16Rate, probe } = found.ceilings;
  if (sameOperands && one.bytes <= (probe?.l2Bytes ?? usualCacheBytes)) return { ...one, cached: true };
  const bytesShare = one.bytes / one.seconds / copyBandwidth.value;
  const flopsShare = one.flops / one.seconds / bf16Rate.value;
  return { ...one, bytesShare, flopsShare, share: Math.max(bytesShare, flopsShare) };
}

/** Failures first; last, what has no share. */
const rankOf = ({ failed, cached, share }) => (failed ? -1 : cached ? Number.MAX_VALUE : share);

/** What results-kernels.json has: the slowest first. */
function results() {
  const kernels = found.kernels.map(withShares);
  kernels.sort((a, b) => rankOf(a) - rankOf(b));
  return { ...found, kernels };
}

const percent = (share) => `${(100 * share).toFixed(1)} %`.padStart(8);

function show({ kernels }) {
  console.log(
    `${'time'.padStart(12)}${'of copies'.padStart(11)}${'of bf16'.padStart(9)}  kernel, slowest first; bf16: ${found.ceilings.bf16Rate.by}`,
  );
  const shares = ({ cached, bytesShare, flopsShare }) =>
    cached ? 'in the cache'.padStart(17) : `${percent(bytesShare)} ${percent(flopsShare)}`;
  for (const { name, seconds, failed, ...one } of kernels)
    console.log(
      failed
        ? `${'failed'.padStart(12)}${''.padStart(20)}  ${name}`
        : `${(1e6 * seconds).toFixed(1).padStart(9)} µs  ${shares(one)}  ${name}`,
    );
  if (found.skipped.length > 0) console.log(`not measured, the time was up: ${found.skipped.join('; ')}`);
}

async function measureAll(backend) {
  for (const T of small ? [1] : [1, 64, 2048]) await measureRows(backend, T);
  for (const S of small ? [1] : [1, 64]) await measureChoice(backend, S);
  for (const dtype of small ? ['f16'] : ['f16', 'int8']) {
    for (const [sequences, depth] of decodes)
      await measureAttention(backend, dtype, { sequences, rows: 1, depth });
    for (const [rows, depth] of prompts)
      await measureAttention(backend, dtype, { sequences: 1, rows, depth });
  }
  const encoders = small
    ? [{ texts: 2, rows: 8, H: 2, d: 16 }]
    : [
        { texts: 64, rows: 128, H: 12, d: 32 },
        { texts: 1, rows: 1500, H: 6, d: 64 },
      ];
  for (const each of encoders) await measureEncoder(backend, each);
  for (const format of formats)
    for (const shape of matrices) await measureProducts(backend, format, shape, productRows);
}

async function measureExact(backend) {
  for (const format of formats)
    for (const shape of exactMatrices) await measureProducts(backend, format, shape, exactRows, ', exact');
}

/** Work of a process: what is predicted to be slow, then the rest. */
async function measureOwn() {
  await withDevice(false, async (backend) => {
    sendToParent({ machine: machineOf(backend) });
    for (const pass of [isPredictedSlow, () => true]) {
      takes = pass;
      await measureAll(backend);
    }
  });
  await withDevice(false, measureExact, { precision: 'exact' });
  process.exit();
}

function take(one) {
  if (one.machine) found.machine ??= one.machine;
  if (one.skipped && !found.skipped.includes(one.skipped)) found.skipped.push(one.skipped);
  if (!one.name) return;
  found.kernels.push(one);
  if (one.failed) {
    found.problems.push(`${one.name}: ${one.failed}`);
    console.log(`FAILED ${one.name}: ${one.failed}`);
  }
  saveUnfinished('kernels', results());
}

/** Processes that end before their time: as many are started anew. */
const maxCrashes = 12;
const self = fileURLToPath(import.meta.url);

async function runPart() {
  Object.assign(found, await ceilingsOf(0.3 * secondsLeft()));
  saveUnfinished('kernels', results());
  if (secondsLeft() <= minSeconds) found.skipped.push('all cases');
  for (let crashes = 0; crashes < maxCrashes && secondsLeft() > minSeconds; crashes++) {
    let begun;
    const { ended, text } = await runScript(self, ['own'], {
      seconds: secondsLeft(),
      silence: 30 * patience,
      onFound(one) {
        begun = one.begins;
        take(one);
      },
    });
    if (!ended) break;
    if (begun) take({ name: begun, failed: `the process ${endingOf({ ended, text })}` });
    else if (!found.kernels.at(-1)?.failed)
      found.problems.push(`kernels: the process ${endingOf({ ended, text })}`);
  }
  show(results());
  writeResults('kernels', results());
}

await (process.argv[2] === 'own' ? measureOwn() : runPart());
