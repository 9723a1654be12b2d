// How long the event loop is held while a prompt is computed and tokens are generated, on two threads.
//   node tools/measure/event-loop.mjs model.gguf [--prompt 512] [--tokens 32] [--threads 2] [--limit 20]
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';
import { longestHold } from './hold.mjs';

const { path, prompt, tokens, threads, limit } = readArguments({
  prompt: 512,
  tokens: 32,
  threads: 2,
  limit: 20,
});

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
