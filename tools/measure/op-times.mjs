// Time of each op in a step of backend-cpu, by the backend's per-op timer.
//   node tools/measure/op-times.mjs model.gguf [--prompt 512] [--depth 0] [--threads 2] [--rounds 10] [--precision standard]
// Output: milliseconds per step of all ops of one kind (medians over the rounds), their number, their share. A linear op is
// named by its weight without the layer.
import { cpuDriver } from '../../packages/backend-cpu/dist/index.js';
import { contiguousKvCache, defineBackend, inputBatch } from '../../packages/core/dist/index.js';
import { loadLanguageModel, openModelFile } from '../../packages/models/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';
import { median } from './ratios.mjs';

const numbers = { prompt: 512, depth: 0, threads: 2, rounds: 10 };
const { path, prompt, depth, threads, rounds, precision } = readArguments(numbers, {
  precision: { type: 'string' },
});

const backend = defineBackend(await cpuDriver({ threads, precision }));
const model = await loadLanguageModel(await openModelFile(path), backend);
const { layers, kvHeads, headDim, vocabulary } = model.config;
const shape = { layers, kvHeads, headDim, dtype: 'f16', context: depth + prompt, sequences: 1 };
const cache = contiguousKvCache(backend, shape);

/** Op times of a step of `rows` tokens, the last of `length`. */
async function timesOfStep(rows, length) {
  const sequence = cache.sequence();
  sequence.append(length);
  const step = backend.step();
  const batch = inputBatch(step, cache.describe([{ sequence, rows }]));
  const ids = step.input(Int32Array.from(promptOf(rows, vocabulary)));
  backend.argmax(model.forward(ids, batch, cache));
  const times = await backend.timer.run(step);
  sequence.release();
  return times;
}

const kindOf = ({ op, name }) =>
  / after | ropeTable/.test(name) ? op : name.replace(/blk\.\d+\.|layers\.\d+\./, '');

const kinds = new Map(); // kind → { count, sums: milliseconds per round }
if (depth > 0) await timesOfStep(depth, depth); // a cache that was never written is not read from memory
for (let round = 0; round <= rounds; round++) {
  const sums = new Map();
  for (const time of await timesOfStep(prompt, depth + prompt)) {
    const kind = sums.get(kindOf(time)) ?? { count: 0, milliseconds: 0 };
    sums.set(kindOf(time), { count: kind.count + 1, milliseconds: kind.milliseconds + time.milliseconds });
  }
  if (round === 0) continue; // cold caches
  for (const [name, { count, milliseconds }] of sums) {
    if (!kinds.has(name)) kinds.set(name, { count, sums: [] });
    kinds.get(name).sums.push(milliseconds);
  }
}
const rows = [...kinds].map(([name, { count, sums }]) => ({ name, count, milliseconds: median(sums) }));
const total = rows.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
for (const { name, count, milliseconds } of rows.sort((a, b) => b.milliseconds - a.milliseconds))
  console.log(
    `${milliseconds.toFixed(2).padStart(9)} ms ${String(count).padStart(4)} × ${name} (${((100 * milliseconds) / total).toFixed(1)} %)`,
  );
console.log(`${total.toFixed(2).padStart(9)} ms in all`);
