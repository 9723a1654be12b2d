// The gain of each fused op on backend-cpu: speed with all fused ops / speed with all but one.
//   node tools/measure/fusions.mjs model.gguf [--prompt 512] [--tokens 32] [--threads 2] [--rounds 6] [--openings 5] [--limit 0.97]
// Both alternate, after an uncounted round, and are opened several times: the place of the weights in memory alone
// changes the speed by some percent. Output: medians of the ratios with probable error. FAIL: a fused op that costs
// speed.
import { cpuDriver } from '../../packages/backend-cpu/dist/index.js';
import { defineBackend, fusedOps } from '../../packages/core/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';
import { median, probableError } from './ratios.mjs';

const { path, prompt, tokens, threads, rounds, openings, limit } = readArguments({
  prompt: 512,
  tokens: 32,
  threads: 2,
  rounds: 6,
  openings: 5,
  limit: 0.97,
});

async function open(fuse) {
  const backend = defineBackend(await cpuDriver({ threads }), { fuse });
  const model = await loadModel(path, { backend, context: prompt + tokens + 8 });
  const ids = promptOf(prompt, model.config.vocabulary);
  const options = { temperature: 0, maxTokens: tokens, ignoreEos: true, reuse: false };
  return {
    speeds: async () => await model.generate(ids, options).result,
    runs: () => backend.kernelRuns(),
    close() {
      model.dispose();
      backend.dispose();
    },
  };
}

/** Adds ratios of the speed with all fused ops to the speed with `fuse`, from newly opened models. */
async function compareOnce(fuse, ratios, allFirst) {
  const first = await open(allFirst ? true : fuse);
  const second = await open(allFirst ? fuse : true);
  const [all, less] = allFirst ? [first, second] : [second, first];
  for (let round = 0; round <= rounds; round++) {
    const one = await all.speeds();
    const other = await less.speeds();
    if (round === 0) continue;
    ratios.prefill.push(one.prefillTokensPerSecond / other.prefillTokensPerSecond);
    ratios.decode.push(one.decodeTokensPerSecond / other.decodeTokensPerSecond);
  }
  all.close();
  less.close();
}

const summary = (ratios) => ({ ratio: median(ratios), error: probableError(ratios) });

async function compare(fuse) {
  const ratios = { prefill: [], decode: [] };
  for (let opening = 0; opening < openings; opening++) await compareOnce(fuse, ratios, opening % 2 === 0);
  return { prefill: summary(ratios.prefill), decode: summary(ratios.decode) };
}

async function usedOps() {
  const all = await open(true);
  await all.speeds();
  const runs = all.runs();
  all.close();
  return Object.keys(fusedOps).filter((name) => runs[name] > 0);
}

const used = await usedOps();
const rows = [];
for (const name of used) rows.push([name, await compare(used.filter((other) => other !== name))]);
rows.push(['all of them', await compare(false)]);
console.log(
  `model   ${path}; ${threads} threads, a prompt of ${prompt}, then ${tokens} tokens; medians of ${openings} × ${rounds}`,
);
const shown = ({ ratio, error }) => `× ${ratio.toFixed(3)} ± ${error.toFixed(3)}`;
for (const [name, { prefill, decode }] of rows)
  console.log(`${name.padEnd(18)} prefill ${shown(prefill)}, decode ${shown(decode)}`);
const costly = rows
  .filter(([, { prefill, decode }]) => Math.min(prefill.ratio, decode.ratio) < limit)
  .map(([name]) => name);
console.log(costly.length ? `FAIL    ${costly.join(', ')} below ${limit}` : `PASS    none is below ${limit}`);
process.exitCode = costly.length ? 1 : 0;
