// The gain of each fused op alone on backend-cpu: time of the replaced ops / time of the fused op, by the backend's
// per-op timer, in steps of a model with everything else equal.
//   node tools/measure/fused-ops.mjs model.gguf [--prompt 16] [--depth 64] [--threads 2] [--rounds 60]
// Steps with all fused ops and with all but one alternate, on the same weights in the same memory. Output: medians of
// the sums over a step, and of their ratios with probable error. The gain for a whole model: fusions.mjs.
import { cpuDriver } from '../../packages/backend-cpu/dist/index.js';
import { contiguousKvCache, defineBackend, fusedOps, inputBatch } from '../../packages/core/dist/index.js';
import { loadLanguageModel, openModelFile } from '../../packages/models/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';
import { median, probableError } from './ratios.mjs';

const { path, prompt, depth, threads, rounds } = readArguments({
  prompt: 16,
  depth: 64,
  threads: 2,
  rounds: 60,
});

/** Sequences of ops that a fused op replaces, the longest first. */
const replaced = {
  addRmsNorm: [['add', 'rmsNorm']],
  gateUpSwiglu: [['linear', 'linear', 'swiglu']],
  qkvLinear: [['linear', 'linear', 'linear']],
  qkNormRopeAppend: [
    ['rmsNorm', 'rmsNorm', 'rope', 'rope', 'kvAppend'],
    ['rope', 'rope', 'kvAppend'],
  ],
  linearArgmax: [['linear', 'argmax']],
};

const options = { fuse: true }; // read at every step preparation
const backend = defineBackend(await cpuDriver({ threads }), options);
const model = await loadLanguageModel(await openModelFile(path), backend);
const { layers, kvHeads, headDim, vocabulary } = model.config;
const shape = { layers, kvHeads, headDim, dtype: 'f16', context: depth + prompt, sequences: 1 };
const cache = contiguousKvCache(backend, shape);

/** Op times of a step of `rows` tokens after `depth` tokens; the cached keys and values are arbitrary. */
async function timesOf(rows, fuse) {
  options.fuse = fuse;
  const sequence = cache.sequence();
  sequence.append(depth + rows);
  const step = backend.step();
  const batch = inputBatch(step, cache.describe([{ sequence, rows }]));
  const ids = step.input(Int32Array.from(promptOf(rows, vocabulary)));
  backend.argmax(model.forward(ids, batch, cache));
  const times = await backend.timer.run(step);
  sequence.release();
  return times.filter(({ op }) => op !== 'ropeTable'); // once per step, at the first rotation
}

/** Milliseconds and number of the runs in `times` that match one of `patterns`. */
function stretches(times, patterns) {
  const total = { milliseconds: 0, count: 0 };
  for (let i = 0; i < times.length; ) {
    const pattern = patterns.find((names) => names.every((name, k) => times[i + k]?.op === name));
    if (!pattern) {
      i++;
      continue;
    }
    for (const { milliseconds } of times.slice(i, i + pattern.length)) total.milliseconds += milliseconds;
    total.count++;
    i += pattern.length;
  }
  return total;
}

/** Sums over steps of `rows` tokens: fused op `name`, and its replaced ops; `others` are fused. */
async function compare(name, others, rows) {
  const [ops, own] = [[], []];
  let count = 0;
  for (let round = 0; round < rounds; round++) {
    const fused = stretches(await timesOf(rows, [...others, name]), [[name]]);
    const plain = stretches(await timesOf(rows, others), replaced[name]);
    if (fused.count !== plain.count)
      throw new Error(`${name} stands ${fused.count} times, what it replaces ${plain.count} times`);
    count = fused.count;
    if (round < rounds / 10) continue; // cold caches in the first steps
    own.push(fused.milliseconds);
    ops.push(plain.milliseconds);
  }
  const ratios = ops.map((milliseconds, i) => milliseconds / own[i]);
  return { count, own: median(own), ops: median(ops), ratio: median(ratios), error: probableError(ratios) };
}

const used = new Set((await timesOf(1, true)).map(({ op }) => op));
const names = Object.keys(fusedOps).filter((name) => replaced[name] && used.has(name));
console.log(
  `model   ${path}; ${threads} threads, steps of 1 and of ${prompt} after ${depth}; medians of ${rounds}`,
);
for (const name of names) {
  const others = names.filter((other) => other !== name);
  for (const rows of [1, prompt]) {
    const { count, own, ops, ratio, error } = await compare(name, others, rows);
    const times = `${count} × ${((1000 * own) / count).toFixed(1)} µs instead of ${((1000 * ops) / count).toFixed(1)}`;
    const row = `${name.padEnd(18)} ${String(rows).padStart(3)} rows`;
    console.log(`${row}  × ${ratio.toFixed(3)} ± ${error.toFixed(3)}   ${times}`);
  }
}
model.dispose();
backend.dispose();
