// JavaScript cost of recording a decode step of 28 layers and preparing it for a driver; no op is computed.
//   node tools/measure/record-cost.mjs [--core packages/core/dist/index.js] [--layers 28] [--steps 400]
// Output: µs of the 10th percentile and of the median step. `record`: the op calls; `prepare`: fuse, lay out, encode,
// run on an empty driver; `replay`: a captured step again. To compare two builds of core, alternate runs.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    core: { type: 'string', default: new URL('../../packages/core/dist/index.js', import.meta.url).pathname },
    layers: { type: 'string', default: '28' },
    steps: { type: 'string', default: '400' },
  },
});
const core = await import(pathToFileURL(resolve(values.core)).href);
const [layers, steps] = [Number(values.layers), Number(values.steps)];
const [D, H, Hk, d, F, V] = [1024, 16, 8, 64, 3072, 32_000];

/** Claims every op, computes nothing. */
function idleDriver() {
  const support = { dtypes: ['f32'], weightFormats: core.denseFormats, cacheDtypes: ['f32', 'f16'] };
  const all = (ops) => Object.fromEntries(Object.keys(ops).map((name) => [name, support]));
  let id = 0;
  const handle = () => ({ id: id++, byteLength: 0 });
  const nothing = async () => {};
  return {
    name: 'idle',
    profile: {
      ...{ kind: 'interpreter', name: 'none', isa: 'none', threads: 1 },
      ...{ totalMemory: 1, readBandwidth: 1, flops: 1 },
    },
    freeMemory: () => 1,
    manifest: { ops: all(core.coreOps), fused: all(core.fusedOps) },
    capabilities: { graph: true },
    memory: { allocate: handle, free() {}, write: nothing, read: nothing },
    loadWeight: async () => handle(),
    freeWeight() {},
    executor: { execute: nothing, capture: () => ({ replay: nothing, dispose() {} }) },
    dispose() {},
  };
}

const b = core.defineBackend(idleDriver());
const weight = (name, ...shape) => b.loadWeight({ name, shape, format: 'f32', bytes: new Uint8Array(0) });
const norm = (name, width = D) => weight(`${name}.weight`, width);
const head = await weight('output.weight', V, D);
const table = await weight('token_embd.weight', V, D);
const outputNorm = await norm('output_norm');
const spec = { blocks: 8, blockSize: 16, heads: Hk, headDim: d, dtype: 'f16' };
const cache = () => b.kvBuffer(spec);
const blocks = await Promise.all(
  Array.from({ length: layers }, async (_, i) => ({
    attnNorm: await norm(`blk.${i}.attn_norm`),
    q: await weight(`blk.${i}.attn_q.weight`, H * d, D),
    k: await weight(`blk.${i}.attn_k.weight`, Hk * d, D),
    v: await weight(`blk.${i}.attn_v.weight`, Hk * d, D),
    qNorm: await norm(`blk.${i}.attn_q_norm`, d),
    kNorm: await norm(`blk.${i}.attn_k_norm`, d),
    out: await weight(`blk.${i}.attn_output.weight`, D, H * d),
    ffnNorm: await norm(`blk.${i}.ffn_norm`),
    gate: await weight(`blk.${i}.ffn_gate.weight`, F, D),
    up: await weight(`blk.${i}.ffn_up.weight`, F, D),
    down: await weight(`blk.${i}.ffn_down.weight`, D, F),
    cache: { k: cache(), v: cache() },
  })),
);
const eps = { eps: 1e-6 };
const config = { heads: H, kvHeads: Hk, headDim: d, scale: 0.125, causal: true };

function layer(x, w, batch) {
  const h = b.rmsNorm(x, w.attnNorm, eps); // [1, D]
  const heads = (weights, count) => b.view(b.linear(h, weights), [1, count, d]);
  const rotated = (y, normWeight) =>
    b.rope(b.rmsNorm(y, normWeight, eps), batch.positions, { theta: 1e6, layout: 'halves' });
  const q = rotated(heads(w.q, H), w.qNorm);
  b.kvAppend(w.cache, rotated(heads(w.k, Hk), w.kNorm), heads(w.v, Hk), batch.slots);
  const attended = b.view(b.attention(q, w.cache, batch, config), [1, H * d]);
  const y = b.add(x, b.linear(attended, w.out));
  const inner = b.rmsNorm(y, w.ffnNorm, eps);
  return b.add(y, b.linear(b.swiglu(b.linear(inner, w.gate), b.linear(inner, w.up)), w.down));
}

function record() {
  const step = b.step();
  const ints = (...words) => step.input(Int32Array.from(words));
  const batch = {
    ...{ positions: ints(3), cuSeqlens: ints(0, 1), kvLengths: ints(4), slots: ints(3), lastRows: ints(0) },
    blockTable: step.input(Int32Array.of(0, 1, 2, 3), [1, 4]),
  };
  let x = b.embed(table, ints(7));
  for (const w of blocks) x = layer(x, w, batch);
  const next = b.argmax(b.linear(b.rmsNorm(x, outputNorm, eps), head));
  return { step, next };
}

const times = { record: [], prepare: [], replay: [] };
const captured = b.graph.capture(record().step);
const graph = await captured;
for (let i = 0; i < steps; i++) {
  const start = performance.now();
  const { step, next } = record();
  const recorded = performance.now();
  await step.read(next);
  const ran = performance.now();
  await graph.replay();
  const replayed = performance.now();
  times.record.push(recorded - start);
  times.prepare.push(ran - recorded);
  times.replay.push(replayed - ran);
}
for (const [name, each] of Object.entries(times)) {
  const sorted = each.slice(each.length >> 2).sort((a, c) => a - c); // drops the first quarter (compilation)
  const at = (part) => (1000 * sorted[Math.floor(part * sorted.length)]).toFixed(1).padStart(9);
  console.log(`${name.padEnd(8)} ${at(0.1)} ${at(0.5)} µs`);
}
