// Decoding speed while other processes keep every core busy, as a share of the quiet speed.
//   node tools/measure/loaded.mjs model.gguf [--tokens 64] [--threads 2] [--rounds 3] [--limit 0.4]
// Quiet and busy rounds alternate; medians are compared. A busy round has one process per CPU in an empty loop, like
// `yes > /dev/null`. The scheduler gives each side half of a CPU: expect 0.5.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';

const { path, tokens, threads, rounds, limit } = readArguments({
  tokens: 64,
  threads: 2,
  rounds: 3,
  limit: 0.4,
});
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs `work` beside one busy process per CPU; the busy processes end with this process. */
async function beside(work) {
  const loop = 'const end = Date.now() + 60_000; while (Date.now() < end);';
  const others = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', loop], { stdio: 'ignore' }),
  );
  try {
    await sleep(500);
    return await work();
  } finally {
    for (const other of others) other.kill();
    await Promise.all(others.map((other) => new Promise((resolve) => other.once('exit', resolve))));
  }
}

const backend = await createBackend({ threads });
const model = await loadModel(path, { backend, context: 1024 });
const prompt = promptOf(16, model.config.vocabulary);
const generate = () =>
  model.generate(prompt, { temperature: 0, maxTokens: tokens, ignoreEos: true, reuse: false }).result;
const speed = async () => (await generate()).decodeTokensPerSecond;
await generate(); // caches the file, captures the plans

const quiet = [];
const busy = [];
for (let round = 0; round < rounds; round++) {
  quiet.push(await speed());
  busy.push(await beside(speed));
}
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const show = (values) =>
  `${median(values).toFixed(1)} tokens/s (${values.map((v) => v.toFixed(1)).join(', ')})`;
const kept = median(busy) / median(quiet);
console.log(
  `model    ${path}, ${model.architecture}, ${threads} threads, ${backend.profile.isa}; ${tokens} tokens`,
);
console.log(`quiet    ${show(quiet)}`);
console.log(`busy     ${show(busy)}`);
console.log(
  `${kept >= limit ? 'PASS' : 'FAIL'}     ${kept.toFixed(2)} of the quiet speed is kept; the limit is ${limit}`,
);
model.dispose();
backend.dispose();
process.exitCode = kept >= limit ? 0 : 1;
