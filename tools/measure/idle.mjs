// CPU time of an idle process with a loaded model: compute threads and whole process (Linux).
//   node tools/measure/idle.mjs model.gguf [--seconds 5] [--threads 2] [--limit 1]
// The model generates first, so all threads have worked; then there are no calls.
import { readdirSync, readFileSync } from 'node:fs';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';

const { path, seconds, threads, limit } = readArguments({ seconds: 5, threads: 2, limit: 1 });

/** CPU ms of the backend's threads, by name. */
function computeThreads() {
  const tasks = '/proc/self/task';
  const entries = readdirSync(tasks).map((task) => [
    readFileSync(`${tasks}/${task}/comm`, 'utf8').trim(),
    Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
  ]);
  return Object.fromEntries(entries.filter(([name]) => name.startsWith('quern-cpu-')).sort());
}

const total = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const backend = await createBackend({ threads });
const model = await loadModel(path, { backend, context: 1024 });
await model.generate(promptOf(64, model.config.vocabulary), {
  temperature: 0,
  maxTokens: 64,
  ignoreEos: true,
}).result;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
await sleep(1000); // compilation and garbage collection after the last token
const before = { threads: computeThreads(), total: total() };
await sleep(1000 * seconds);
const after = { threads: computeThreads(), total: total() };

console.log(`model        ${path}, ${model.architecture}, ${threads} threads; idle for ${seconds} s`);
let compute = 0;
for (const [name, ms] of Object.entries(after.threads)) {
  const taken = ms - before.threads[name];
  compute += taken;
  console.log(`${name.padEnd(13)}${taken.toFixed(3)} ms, of ${ms.toFixed(1)} ms since it began`);
}
console.log(
  `process      ${(after.total - before.total).toFixed(3)} ms, its timer and this measurement with it`,
);
const passed = Object.keys(after.threads).length === threads && compute <= limit;
console.log(
  `${passed ? 'PASS' : 'FAIL'}         the compute threads took ${compute.toFixed(3)} ms; the limit is ${limit} ms`,
);
model.dispose();
backend.dispose();
process.exitCode = passed ? 0 : 1;
