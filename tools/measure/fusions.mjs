// What each fused op gains on backend-cpu: speed with all of them over the speed with all but one.
//   node tools/measure/fusions.mjs model.gguf [--prompt 512] [--tokens 32] [--threads 2] [--rounds 5] [--limit 0.97]
// Both take turns, after a round that is not counted; the medians of their ratios are shown. FAIL where one costs speed.
import { cpuDriver } from '../../packages/backend-cpu/dist/index.js';
import { defineBackend, fusedOps } from '../../packages/core/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';

const { path, prompt, tokens, threads, rounds, limit } = readArguments({
  prompt: 512,
  tokens: 32,
  threads: 2,
  rounds: 5,
  limit: 0.97,
});
const names = Object.keys(fusedOps);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function open(fuse) {
  const backend = defineBackend(await cpuDriver({ threads }), { fuse });
  const model = await loadModel(path, { backend, context: prompt + tokens + 8 });
  const ids = promptOf(prompt, model.config.vocabulary);
  const options = { temperature: 0, maxTokens: tokens, ignoreEos: true };
  return {
    speeds: async () => await model.generate(ids, options).result,
    runs: () => backend.kernelRuns(),
    close() {
      model.dispose();
      backend.dispose();
    },
  };
}

/** Ratios of the speed with all fused ops to that with `fuse`, one of each round. */
async function compare(all, fuse) {
  const less = await open(fuse);
  const prefill = [];
  const decode = [];
  for (let round = 0; round <= rounds; round++) {
    const one = await all.speeds();
    const other = await less.speeds();
    if (round === 0) continue;
    prefill.push(one.prefillTokensPerSecond / other.prefillTokensPerSecond);
    decode.push(one.decodeTokensPerSecond / other.decodeTokensPerSecond);
  }
  less.close();
  return { prefill: median(prefill), decode: median(decode) };
}

const all = await open(true);
await all.speeds();
const used = names.filter((name) => all.runs()[name] > 0);
const rows = [];
for (const name of used)
  rows.push([
    name,
    await compare(
      all,
      used.filter((other) => other !== name),
    ),
  ]);
rows.push(['all of them', await compare(all, false)]);
console.log(
  `model   ${path}; ${threads} threads, a prompt of ${prompt}, then ${tokens} tokens; medians of ${rounds}`,
);
for (const [name, { prefill, decode }] of rows)
  console.log(`${name.padEnd(18)} prefill × ${prefill.toFixed(3)}, decode × ${decode.toFixed(3)}`);
const costly = rows
  .filter(([, { prefill, decode }]) => Math.min(prefill, decode) < limit)
  .map(([name]) => name);
console.log(costly.length ? `FAIL    ${costly.join(', ')} below ${limit}` : `PASS    none is below ${limit}`);
all.close();
process.exitCode = costly.length ? 1 : 0;
