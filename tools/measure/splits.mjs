// Planned and measured tokens per second for splits of one model over two backend-cpu instances of different speed, one
// thread each.
//   quern bench --arch qwen3-0.6b --format q4_k_m --make model.gguf
//   node tools/measure/splits.mjs model.gguf [--slow scalar] [--fast avx2] [--splits 5] [--tokens 16] [--rounds 7] [--processor-time]
// All splits are loaded at once and alternate, so other load on the machine affects all equally. Output: medians with
// probable error, and whether the planner's order equals the measured order. --processor-time: tokens per second of processor
// time, for a busy machine; the parts compute one after the other, on one thread each.
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { promptOf, readArguments } from './arguments.mjs';
import { median, probableError } from './ratios.mjs';

const {
  path,
  slow = 'scalar',
  fast = 'avx2',
  splits,
  tokens,
  rounds,
  'processor-time': byProcessor,
} = readArguments(
  { splits: 5, tokens: 16, rounds: 7 },
  { slow: { type: 'string' }, fast: { type: 'string' }, 'processor-time': { type: 'boolean' } },
);

const backends = [
  await createBackend({ threads: 1, isa: slow }),
  await createBackend({ threads: 1, isa: fast }),
];
const giga = (rate) => (rate / 1e9).toFixed(1);
const show = ({ isa, readBandwidth, flops, rowFlops }) =>
  `${isa}: reads ${giga(readBandwidth)} GB/s, ${giga(flops)} GFLOP/s, ${giga(rowFlops)} in products of one row with q4_k`;
for (const { profile } of backends) console.log(show(profile));

const load = (split) => loadModel(path, { backend: backends, context: 64, ...(split && { split }) });

const chosen = await load(undefined);
const { layers, vocabulary } = chosen.config;
const rangesOf = ({ plan }) =>
  plan.ranges.map(({ firstLayer, endLayer }) => `${firstLayer}-${endLayer - 1}`).join(',');
console.log(`the planner's own choice: ${rangesOf(chosen)}`);
chosen.dispose();

/** The first backend's numbers of layers: evenly spaced from few to almost all. */
const counts = Array.from({ length: splits }, (_, i) => Math.round(1 + ((i + 0.5) * (layers - 2)) / splits));
const models = [];
for (const count of counts) models.push(await load(`0-${count - 1},${count}-${layers - 1}`));

const prompt = promptOf(4, vocabulary);
const options = { temperature: 0, ignoreEos: true };
const generate = (model, maxTokens) => model.generate(prompt, { ...options, maxTokens, reuse: false }).result;
const wallRate = async (model) => (await generate(model, tokens + 1)).decodeTokensPerSecond;

/** Seconds of processor time of all threads of this process. */
async function processorSeconds(act) {
  const start = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** Without the prompt and the first token. */
async function processorRate(model) {
  const first = await processorSeconds(() => generate(model, 1));
  return tokens / ((await processorSeconds(() => generate(model, tokens + 1))) - first);
}

const measured = models.map(() => []);
for (let round = -1; round < rounds; round++)
  for (const [i, model] of models.entries()) {
    const rate = await (byProcessor ? processorRate(model) : wallRate(model));
    if (round >= 0) measured[i].push(rate); // the first round captures
  }

console.log(
  '\n| layers | planned tokens/s | measured tokens/s | measured / planned |\n| --- | ---: | ---: | ---: |',
);
for (const [i, model] of models.entries()) {
  const [plan, rate] = [model.plan.estimate.decodeTokensPerSecond, median(measured[i])];
  const spread = probableError(measured[i]).toFixed(2);
  console.log(
    `| ${rangesOf(model)} | ${plan.toFixed(2)} | ${rate.toFixed(2)} ± ${spread} | ${(rate / plan).toFixed(2)} |`,
  );
}

const order = (values) =>
  values
    .map((value, i) => [value, i])
    .sort(([a], [b]) => b - a)
    .map(([, i]) => i)
    .join();
const planned = order(models.map(({ plan }) => plan.estimate.decodeTokensPerSecond));
const isSame = planned === order(measured.map(median));
console.log(`\nthe planner's order is${isSame ? '' : ' not'} the measured order`);
for (const model of models) model.dispose();
for (const backend of backends) backend.dispose();
process.exitCode = isSame ? 0 : 1;
