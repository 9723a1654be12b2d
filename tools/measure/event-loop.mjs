// Longest block of the event loop during loading, a prompt and generation, and the first text with a schema, on two threads.
//   node tools/measure/event-loop.mjs model.gguf [--prompt 512] [--tokens 32] [--threads 2] [--limit 20]
// The limit applies to uninterrupted run time of the JavaScript thread (Linux); the rest of a block is waiting for a
// CPU.
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

const show = (value) => value.toFixed(2);
const backend = await createBackend({ threads });
const context = Math.max(prompt + tokens + 1, 1024);
const loading = await longestHold(() => loadModel(path, { backend, context }));
const model = loading.result;
const ids = promptOf(prompt, model.config.vocabulary);
const options = { temperature: 0, maxTokens: tokens, ignoreEos: true, reuse: false };
const generating = await longestHold(() => model.generate(ids, options).result);
const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const structured = await longestHold(
  () => model.generate(ids.slice(0, 8), { temperature: 0, maxTokens: 16, schema }).result,
);
const { prefillMs, prefillTokensPerSecond, decodeMs, decodeTokensPerSecond } = generating.result;
console.log(`model            ${path}, ${model.architecture}, ${threads} threads, ${backend.profile.isa}`);
console.log(
  `prefill          ${prompt} tokens in ${show(prefillMs)} ms (${show(prefillTokensPerSecond)} tokens/s)`,
);
console.log(
  `decode           ${tokens} tokens in ${show(decodeMs)} ms (${show(decodeTokensPerSecond)} tokens/s)`,
);
for (const [name, { longest, ran, median }] of Object.entries({
  loading,
  generating,
  'first schema': structured,
}))
  console.log(
    `${name.padEnd(16)} held at most ${show(longest)} ms (median ${show(median)}); the thread itself ran at most ${show(ran)} ms in one go`,
  );
const worst = Math.max(loading.ran, generating.ran, structured.ran);
console.log(
  `${worst <= limit ? 'PASS' : 'FAIL'}             JavaScript held the event loop for at most ${show(worst)} ms; the limit is ${limit} ms`,
);
model.dispose();
backend.dispose();
process.exitCode = worst <= limit ? 0 : 1;
