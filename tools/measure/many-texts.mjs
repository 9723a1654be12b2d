// One request of many texts to a server in this process, again and again: its memory above idle, and what another client waits
// for two tokens meanwhile, against the same client on the quiet server (200 requests each).
//   node --expose-gc tools/measure/many-texts.mjs [model.gguf] [--prompts 256] [--answers 8] [--tokens 50] [--words 1] [--context 512]
import { loadModel } from '../../packages/runtime/dist/index.js';
import { serve } from '../../packages/server/dist/index.js';
import { readArguments } from './arguments.mjs';

const { path, prompts, answers, tokens, words, context } = readArguments({
  prompts: 256,
  answers: 8,
  tokens: 50,
  words: 1,
  context: 512,
});
const model = await loadModel(path, {
  backend: 'cpu',
  sequences: 8,
  context,
  onNotice: () => {},
});
const server = await serve({ models: { model }, port: 0 });

const complete = async (body) => {
  const response = await fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ignore_eos: true, ...body }),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
};

/** Milliseconds of a small request. */
async function small() {
  const begin = performance.now();
  await complete({ prompt: `Small ${begin}`, max_tokens: 2 });
  return performance.now() - begin;
}

const at = (times, part) => [...times].sort((a, b) => a - b)[Math.ceil(part * times.length) - 1];
const show = (what, times) =>
  console.log(
    `${what}: ${times.length} requests, median ${at(times, 0.5).toFixed(0)} ms, p99 ${at(times, 0.99).toFixed(0)} ms`,
  );
const megabytes = () => process.memoryUsage().rss / 1e6;

// steps of every size, so that their times are known
for (const count of [1, 4, 16, 64])
  await complete({ prompt: Array.from({ length: count }, (_, i) => `${i}`), max_tokens: 8 });
const quiet = [];
for (let i = 0; i < 200; i++) quiet.push(await small());
globalThis.gc?.();
const idle = megabytes();
let peak = idle;
const timer = setInterval(() => {
  peak = Math.max(peak, megabytes());
}, 20);
const texts = Array.from({ length: prompts }, (_, i) => `${i}${' word'.repeat(words)}`);
const beside = [];
const firsts = [];
let [answered, tokensOfAll, seconds] = [0, 0, 0];

/** The request once, and the other client's requests until its end. */
async function round() {
  let isOver = false;
  const begin = performance.now();
  const many = complete({ prompt: texts, n: answers, max_tokens: tokens }).finally(() => {
    isOver = true;
  });
  const first = beside.length;
  while (!isOver) {
    beside.push(await small());
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  firsts.push(beside[first]);
  const { choices, usage } = await many;
  seconds += (performance.now() - begin) / 1000;
  answered += choices.length;
  tokensOfAll += usage.total_tokens;
}

// as often as a p99 needs: of 60 requests it would be the slowest
while (beside.length < quiet.length) await round();
clearInterval(timer);
show('quiet', quiet);
show('beside', beside);
console.log(`first requests beside: ${firsts.map((ms) => ms.toFixed(0)).join(', ')} ms`);
console.log(
  `p99: ${(at(beside, 0.99) / at(quiet, 0.99)).toFixed(2)} times, median: ${(at(beside, 0.5) / at(quiet, 0.5)).toFixed(2)} times`,
);
console.log(
  `${answered} texts, ${tokensOfAll} tokens in ${seconds.toFixed(1)} s; ` +
    `${(peak - idle).toFixed(0)} MB above ${idle.toFixed(0)} MB`,
);
await server.close();
model.dispose();
