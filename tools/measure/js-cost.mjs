// What a decoded token costs outside native code, and how often JavaScript calls into the addon.
//   node --expose-gc tools/measure/js-cost.mjs model.gguf [--tokens 256] [--threads 2] [--limit 100] [--sample]
// Method: over a long generation, three clocks run.
//   processor  processor time of the JavaScript thread alone (/proc, Linux): the figure that is judged. It contains what the
//              addon's calls, its resolved promise and libuv cost on that thread: an upper bound for JavaScript itself.
//   active     time in which the event loop was not waiting (performance.eventLoopUtilization); it counts as well the time in
//              which this thread wanted to run while the compute threads held all cores.
//   wall       everything, native computing included.
// The demo model runs first, so that the code is compiled as it is in a process that has served for a while, however slow
// the model to be measured is. Turning tokens into text is part of all three; it is timed apart, and shown for comparison.
// Counting the calls costs something itself, so that is a run of its own, on a backend whose addon counts.
import { existsSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel, TokenStream } from '../../packages/runtime/dist/index.js';
import { demo, promptOf, readArguments } from './arguments.mjs';
import { countCrossings } from './count-crossings.mjs';
import { mainThreadMs } from './main-thread.mjs';

const { path, tokens, threads, limit, sample } = readArguments(
  { tokens: 256, threads: 2, limit: 100 },
  { sample: { type: 'boolean' } },
);
const warmUp = 64;
const sampling = sample ? { temperature: 0.8, seed: 1 } : { temperature: 0 };

let collecting = 0; // ms of garbage collection so far
const observer = new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collecting += duration;
});
observer.observe({ entryTypes: ['gc'] });

const clocks = () => ({
  collecting,
  processor: mainThreadMs() ?? Number.NaN,
  active: performance.eventLoopUtilization().active,
  wall: performance.now(),
});

/** What each of some counters grew by per token, after the first `warmUp` tokens of a generation. */
async function perToken(model, read) {
  const options = { ...sampling, maxTokens: warmUp + tokens, ignoreEos: true };
  const generated = [];
  let from = 0;
  let start = read();
  for await (const piece of model.generate(promptOf(16, model.config.vocabulary), options)) {
    generated.push(...piece.tokens);
    if (from > 0 || generated.length < warmUp) continue;
    from = generated.length;
    start = read();
  }
  const end = read();
  const growth = Object.keys(end).map((name) => [
    name,
    (end[name] - (start[name] ?? 0)) / (generated.length - from),
  ]);
  return { growth: Object.fromEntries(growth), generated };
}

async function withModel(use, file = path) {
  const backend = await createBackend({ threads });
  const model = await loadModel(file, { backend, context: 1024 });
  try {
    return await use(model, backend);
  } finally {
    model.dispose();
    backend.dispose();
  }
}

/** µs per token of turning tokens into text. */
function textCost(model, ids) {
  const repeats = 20;
  const start = performance.now();
  for (let i = 0; i < repeats; i++) {
    const stream = new TokenStream(model.tokenizer);
    for (const id of ids) stream.push(id);
  }
  return (1000 * (performance.now() - start)) / (repeats * ids.length);
}

const show = (milliseconds) => `${(1000 * milliseconds).toFixed(1).padStart(9)} µs`;

if (existsSync(demo))
  await withModel(async (model) => {
    for (let i = 0; i < 4; i++) await perToken(model, clocks);
  }, demo);

const judged = await withModel(async (model, backend) => {
  globalThis.gc?.(); // what loading left behind is not a token's cost
  const { growth, generated } = await perToken(model, clocks);
  console.log(
    `model        ${path}, ${model.architecture}, ${threads} threads, ${backend.profile.isa}, ${sample ? 'sampled' : 'greedy'}`,
  );
  console.log(`per token, over ${tokens} tokens:`);
  console.log(`  processor ${show(growth.processor)}   of the JavaScript thread`);
  console.log(`  garbage   ${show(growth.collecting)}   of which garbage collection`);
  console.log(`  active    ${show(growth.active)}   event loop not waiting`);
  console.log(`  wall      ${show(growth.wall)}`);
  if (model.tokenizer)
    console.log(`  text      ${show(textCost(model, generated) / 1000)}   of which tokens to text`);
  return Number.isNaN(growth.processor) ? growth.active : growth.processor;
});

const counts = countCrossings();
const { growth: calls } = await withModel((model) => perToken(model, () => ({ ...counts })));
const crossings = Object.entries(calls).filter(([, count]) => count > 0);
const total = crossings.reduce((sum, [, count]) => sum + count, 0);
console.log(
  `calls into the addon per token: ${total.toFixed(2)} (${crossings.map(([name, n]) => `${name} ${n.toFixed(2)}`).join(', ')}), and one promise that it resolves`,
);
const passed = 1000 * judged <= limit;
console.log(
  `${passed ? 'PASS' : 'FAIL'}         ${(1000 * judged).toFixed(1)} µs per token; the limit is ${limit} µs`,
);
process.exitCode = passed ? 0 : 1;
