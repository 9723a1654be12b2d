// Resident memory over many cycles of loading, generating and disposing.
//   node --expose-gc tools/measure/leak.mjs [model.gguf] [--cycles 1000] [--tokens 16] [--threads 2] [--abort] [--limit 4]
// Output: slope in KiB per cycle, by least squares over the second half; the allocator's arenas fill during the first
// few hundred cycles. --abort: each generation is aborted at a random token. Without --expose-gc the slope includes
// uncollected garbage.
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';

const { path, cycles, tokens, threads, limit, abort } = readArguments(
  { cycles: 1000, tokens: 16, threads: 2, limit: 4 },
  { abort: { type: 'boolean' } },
);

async function generate(model) {
  const controller = new AbortController();
  const abortAt = abort ? 1 + Math.floor(Math.random() * tokens) : Number.POSITIVE_INFINITY;
  const options = { seed: 1, maxTokens: tokens, ignoreEos: true, signal: controller.signal };
  let seen = 0;
  for await (const piece of model.generate(promptOf(8, model.config.vocabulary), options)) {
    seen += piece.tokens.length;
    if (seen >= abortAt) controller.abort();
  }
}

async function cycle() {
  const backend = await createBackend({ threads });
  const model = await loadModel(path, { backend, context: 128 });
  await generate(model);
  model.dispose();
  backend.dispose();
}

/** Slope of the least-squares line through [x, y] points. */
function slope(points) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([a]) => a)), mean(points.map(([, b]) => b))];
  const covariance = points.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  return covariance / points.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
}

/** Collects twice; between the collections, native code frees what the first released. */
async function collect() {
  globalThis.gc?.();
  await new Promise((resolve) => setTimeout(resolve, 5));
  globalThis.gc?.();
}

const every = Math.max(1, Math.floor(cycles / 100));
const samples = [];
for (let i = 1; i <= cycles; i++) {
  await cycle();
  if (i % every !== 0) continue;
  await collect();
  samples.push([i, process.memoryUsage.rss() / 1024]);
}
const settled = samples.filter(([i]) => i > cycles / 2);
const growth = slope(settled);
const mebibytes = (kibibytes) => `${(kibibytes / 1024).toFixed(1)} MiB`;
console.log(`${cycles} cycles of ${path}${abort ? ', aborted at random tokens' : ''}`);
console.log(
  `resident     ${mebibytes(samples[0][1])} after ${samples[0][0]} cycles, ${mebibytes(settled[0][1])} after ${settled[0][0]}, ${mebibytes(samples.at(-1)[1])} at the end`,
);
console.log(
  `${growth <= limit ? 'PASS' : 'FAIL'}         slope ${growth.toFixed(3)} KiB per cycle; the limit is ${limit}`,
);
process.exitCode = growth <= limit ? 0 : 1;
