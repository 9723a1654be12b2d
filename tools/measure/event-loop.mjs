// How long the event loop is held while a prompt is computed and tokens are generated, on two threads.
//   node tools/measure/event-loop.mjs model.gguf [--prompt 512] [--tokens 32] [--threads 2] [--limit 20]
// Two witnesses: perf_hooks.monitorEventLoopDelay at its finest resolution, and a timer that asks to run every millisecond.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';

const { path, prompt, tokens, threads, limit } = readArguments({
  prompt: 512,
  tokens: 32,
  threads: 2,
  limit: 20,
});

/** Runs `work` and returns the longest time, in ms, that the loop was held meanwhile, by both witnesses. */
async function longestHold(work) {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  let longest = 0;
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
  };
  const timer = setInterval(tick, 1);
  histogram.enable();
  await work();
  await new Promise((resolve) => setTimeout(resolve, 2));
  histogram.disable();
  clearInterval(timer);
  return { timer: longest, histogram: histogram.max / 1e6 - 1, median: histogram.percentile(50) / 1e6 - 1 };
}

const backend = await createBackend({ threads });
const model = await loadModel(path, { backend, context: Math.max(prompt + tokens + 1, 1024) });
const ids = promptOf(prompt, model.config.vocabulary);
let result;
const hold = await longestHold(async () => {
  result = await model.generate(ids, { temperature: 0, maxTokens: tokens, ignoreEos: true }).result;
});
const worst = Math.max(hold.timer, hold.histogram);
const show = (value) => value.toFixed(2);
console.log(`model            ${path}, ${model.architecture}, ${threads} threads, ${backend.profile.isa}`);
console.log(
  `prefill          ${prompt} tokens in ${show(result.prefillMs)} ms (${show(result.prefillTokensPerSecond)} tokens/s)`,
);
console.log(
  `decode           ${result.tokens.length} tokens in ${show(result.decodeMs)} ms (${show(result.decodeTokensPerSecond)} tokens/s)`,
);
console.log(
  `longest hold     ${show(hold.timer)} ms by the timer, ${show(hold.histogram)} ms by monitorEventLoopDelay (median ${show(hold.median)})`,
);
console.log(
  `${worst <= limit ? 'PASS' : 'FAIL'}             the event loop was held at most ${show(worst)} ms; the limit is ${limit} ms`,
);
model.dispose();
backend.dispose();
process.exitCode = worst <= limit ? 0 : 1;
