// Cost of a decoded token outside native code, and number of calls from JavaScript into the addon.
//   node --expose-gc tools/measure/js-cost.mjs model.gguf [--tokens 256] [--threads 2] [--limit 100] [--sample]
// Method: one section of JavaScript per replay (or chain): from the first microtask after the addon resolves to the
// next call. It reads the tokens, converts them to text, gives them to the reader, writes the next inputs. Each section
// is timed; the tokenizer's time is subtracted; the rest is divided by the section's tokens. The median is judged. The
// mean is also shown; it includes garbage collection and times when the compute threads occupy the cores. Also shown,
// from a run without this timing:
//   processor  CPU time of the JavaScript thread (/proc, Linux), including wake-ups in libuv and the kernel
//   wake-up    CPU time of an empty timer while two threads read memory: the machine's floor
// The demo model runs first: the code is compiled as in a long-running process.
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel, TokenStream } from '../../packages/runtime/dist/index.js';
import { demo, promptOf, readArguments } from './arguments.mjs';
import { countCrossings, timeSections } from './count-crossings.mjs';
import { mainThreadMs } from './main-thread.mjs';

const { path, tokens, threads, limit, sample } = readArguments(
  { tokens: 256, threads: 2, limit: 100 },
  { sample: { type: 'boolean' } },
);
const warmUp = 64;
const sampling = sample ? { temperature: 0.8, seed: 1 } : { temperature: 0 };

const clocks = () => ({ processor: mainThreadMs() ?? Number.NaN, wall: performance.now() });

/** Growth of each counter per token, after the first `warmUp` tokens of a generation. */
async function perToken(model, read) {
  const options = { ...sampling, maxTokens: warmUp + tokens, ignoreEos: true, reuse: false };
  let generated = 0;
  let from = 0;
  let start = read();
  for await (const piece of model.generate(promptOf(16, model.config.vocabulary), options)) {
    generated += piece.tokens.length;
    if (from > 0 || generated < warmUp) continue;
    from = generated;
    start = read();
  }
  const end = read();
  const growth = Object.keys(end).map((name) => [
    name,
    (end[name] - (start[name] ?? 0)) / (generated - from),
  ]);
  return { growth: Object.fromEntries(growth) };
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

/** Times the conversion of tokens to text, in ms. */
function timeText() {
  const { push } = TokenStream.prototype;
  const texts = { each: [], total: 0 };
  TokenStream.prototype.push = function (id) {
    const start = performance.now();
    const text = push.call(this, id);
    texts.each.push(performance.now() - start);
    texts.total += texts.each.at(-1);
    return text;
  };
  return texts;
}

const show = (milliseconds) => `${(1000 * milliseconds).toFixed(1).padStart(9)} µs`;

if (existsSync(demo))
  await withModel(async (model) => {
    for (let i = 0; i < 4; i++) await perToken(model, clocks);
  }, demo);

/** CPU ms per wake-up of an empty timer, while two threads read memory. */
async function wakeUpCost(wakeUps = 100) {
  const stream =
    'const a = new Float64Array(1 << 25).fill(1); let s = 0; for (;;) for (let i = 0; i < a.length; i += 8) s += a[i];';
  const workers = [0, 1].map(() => new Worker(stream, { eval: true }));
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  await sleep(500);
  const start = mainThreadMs() ?? Number.NaN;
  for (let i = 0; i < wakeUps; i++) await sleep(20);
  const cost = ((mainThreadMs() ?? Number.NaN) - start) / wakeUps;
  for (const worker of workers) await worker.terminate();
  return cost;
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

await withModel(async (model, backend) => {
  globalThis.gc?.(); // garbage of loading is not a token's cost
  const { growth } = await perToken(model, clocks);
  const how = sample ? 'sampled' : 'greedy';
  console.log(
    `model        ${path}, ${model.architecture}, ${threads} threads, ${backend.profile.isa}, ${how}; ${tokens} tokens`,
  );
  console.log(`processor   ${show(growth.processor)} per token`);
  console.log(`wake-up     ${show(await wakeUpCost())} for nothing`);
  console.log(`wall        ${show(growth.wall)} per token`);
});

const { counts, restore } = countCrossings();
const { growth: calls } = await withModel((model) => perToken(model, () => ({ ...counts })));
restore();
const crossings = Object.entries(calls).filter(([, count]) => count > 0);
const total = crossings.reduce((sum, [, count]) => sum + count, 0);
console.log(
  `crossings    ${total.toFixed(2)} calls into the addon per token (${crossings.map(([name, n]) => `${name} ${n.toFixed(2)}`).join(', ')}), and one promise that it resolves`,
);

const texts = timeText();
const { sections } = timeSections(() => texts.total);
await withModel((model) => perToken(model, clocks));
const own = sections
  .slice(Math.ceil((sections.length * warmUp) / (warmUp + tokens)))
  .map((section) => section.ms / section.tokens);
const judged = 1000 * median(own);
const passed = judged <= limit;
console.log(`text        ${show(median(texts.each))} per token (median), the tokenizer's`);
console.log(`JavaScript  ${show(mean(own))} per token on average, without it`);
console.log(
  `${passed ? 'PASS' : 'FAIL'}         ${judged.toFixed(1)} µs per token (median); the limit is ${limit} µs`,
);
process.exitCode = passed ? 0 : 1;
