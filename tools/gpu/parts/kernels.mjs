// The time of each hot kernel on true shapes, as bytes and operations per second beside the ceilings; slowest first.
import { attentionName, floats, productName, productOf, withAttention, withWeights } from './cases.mjs';
import { ceilingsOf, showCeilings } from './ceilings.mjs';
import { withDevice } from './device.mjs';
import { machineOf, saveUnfinished, secondsLeft, small, writeResults } from './setting.mjs';
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
const mostOutputRows = 256;
/** With precision 'exact' too: matrices of layers. */
const exactRows = small ? [16] : [16, 2048];
const exactMatrices = matrices.slice(0, 3);

const measured = [];
const skipped = [];
/** Of all results: the device and its ceilings. */
let facts;
/** The device failed. */
let ended = false;

const leastSeconds = 20;

/** Whether there is time for a case or a group of cases; otherwise it is named. */
function timeFor(name) {
  if (secondsLeft() >= leastSeconds) return true;
  skipped.push(name);
  return false;
}

/** Measures one case unless the time is up. `work`: { bytes, flops }. */
async function measure(backend, name, work, record) {
  if (!timeFor(name)) return;
  await orFailed(name, work, async () => {
    measured.push({ name, ...work, seconds: await secondsOfOp(backend, record) });
    saveUnfinished('kernels', results());
  });
}

/** A failure of `act` is a result; after one of the device nothing can follow. */
async function orFailed(name, work, act) {
  try {
    await act();
  } catch (error) {
    if (ended) throw error;
    measured.push({ name, ...work, failed: `${error.code ?? error.name}: ${error.message}` });
    saveUnfinished('kernels', results());
    console.log(`FAILED ${name}: ${error.message}`);
    ended = error.code === 'DEVICE_FAILED';
    if (ended) throw error;
  }
}

/** `label`: at the end of names, such as ', exact'. */
async function measureProducts(backend, format, [N, K], rows, label = '') {
  const nameOf = (count) => productName(format, [N, K], count) + label;
  if (!timeFor(nameOf('…'))) return;
  await orFailed(nameOf('…'), {}, () =>
    withWeights(backend, format, [N, K], async (weights) => {
      for (const T of rows) {
        if (N > 100_000 && T > mostOutputRows) continue;
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

/** Of the second cache, where the probe did not tell: an H100 has 50 MB. */
const usualCacheBytes = 50e6;

/** Shares of the ceilings; the larger one judges a kernel. None where all ops read the same operands, which stay in the cache. */
function withShares({ sameOperands, ...one }) {
  if (one.failed) return one;
  const { copyBandwidth, bf16Rate, probe } = facts.ceilings;
  if (sameOperands && one.bytes <= (probe?.l2Bytes ?? usualCacheBytes)) return { ...one, cached: true };
  const bytesShare = one.bytes / one.seconds / copyBandwidth.value;
  const flopsShare = one.flops / one.seconds / bf16Rate.value;
  return { ...one, bytesShare, flopsShare, share: Math.max(bytesShare, flopsShare) };
}

/** Failures first; last, what has no share. */
const rankOf = ({ failed, cached, share }) => (failed ? -1 : cached ? Number.MAX_VALUE : share);

/** What results-kernels.json has: the slowest first. */
function results() {
  const kernels = measured.map(withShares);
  kernels.sort((a, b) => rankOf(a) - rankOf(b));
  return { ...facts, kernels, skipped };
}

const percent = (share) => `${(100 * share).toFixed(1)} %`.padStart(8);

function show({ kernels }) {
  console.log(
    `${'time'.padStart(12)}${'of copies'.padStart(11)}${'of bf16'.padStart(9)}  kernel, slowest first; bf16: ${facts.ceilings.bf16Rate.by}`,
  );
  const shares = ({ cached, bytesShare, flopsShare }) =>
    cached ? 'in the cache'.padStart(17) : `${percent(bytesShare)} ${percent(flopsShare)}`;
  for (const { name, seconds, failed, ...one } of kernels)
    console.log(
      failed
        ? `${'failed'.padStart(12)}${''.padStart(20)}  ${name}`
        : `${(1e6 * seconds).toFixed(1).padStart(9)} µs  ${shares(one)}  ${name}`,
    );
  if (skipped.length > 0) console.log(`not measured, the time was up: ${skipped.join('; ')}`);
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

try {
  await withDevice(false, async (backend) => {
    const ceilings = await ceilingsOf(backend);
    showCeilings(ceilings);
    facts = { machine: machineOf(backend), ceilings };
    await measureAll(backend);
  });
  await withDevice(false, measureExact, { precision: 'exact' });
} finally {
  if (facts) show(results());
}
writeResults('kernels', results());
if (measured.some(({ failed }) => failed)) process.exitCode = 1;
