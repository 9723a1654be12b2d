// CPU time of one thread for fixed work, two checkouts in turns: before-and-after comparison on a busy machine.
//   node tools/measure/processor-time.mjs OTHER_CHECKOUT [--rounds 3]
// Both must be built. Output: the median of each part in milliseconds for both, and the ratio this / other.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const here = fileURLToPath(new URL('../..', import.meta.url));
const formats = ['f16', 'q8_0', 'int8'];
const load = (checkout, name) => import(pathToFileURL(join(checkout, `packages/${name}/dist/index.js`)).href);

/** CPU milliseconds of an act, on all threads of this process. */
async function processorMs(act) {
  const start = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

async function times(count, act) {
  for (let i = 0; i < count; i++) await act(i);
}

async function generation({ loadModel }, checkout, backend) {
  const model = await loadModel(join(checkout, 'packages/demo-model/model/quern-demo.gguf'), { backend });
  const ids = Array.from({ length: 400 }, (_, i) => 10 + ((i * 37) % 1500));
  const run = (prompt, maxTokens, sampling) =>
    model.generate(prompt, { maxTokens, ignoreEos: true, reuse: false, ...sampling }).result;
  const greedy = { temperature: 0 };
  await run(ids, 1, greedy);
  const found = {
    'prompts of 400': await processorMs(() => times(30, () => run(ids, 1, greedy))),
    'greedy, 400 tokens': await processorMs(() => times(6, () => run(ids.slice(0, 10), 400, greedy))),
    'sampled, 400 tokens': await processorMs(() => times(6, () => run(ids.slice(0, 10), 400, { seed: 1 }))),
  };
  model.dispose();
  return found;
}

async function embeddings({ loadEmbedder }, folder, format, backend) {
  const model = await loadEmbedder(join(folder, `${format}.gguf`), { backend });
  const long = Array.from({ length: 32 }, (_, i) => `${'abc def ghi jkl mno '.repeat(6)}${i}`);
  await model.embed(long.slice(0, 2));
  const found = {
    [`${format}, 32 texts of 100 tokens`]: await processorMs(() => times(3, () => model.embed(long))),
    [`${format}, a text of 14 tokens`]: await processorMs(() =>
      times(30, (i) => model.embed([`a quick test ${i}`])),
    ),
  };
  model.dispose();
  return found;
}

/** All parts, with one checkout, in a child process. */
async function measure(checkout, folder) {
  const runtime = await load(checkout, 'runtime');
  const { createBackend } = await load(checkout, 'backend-cpu');
  const backend = await createBackend({ threads: 1 });
  const parts = [await generation(runtime, checkout, backend)];
  for (const format of formats) parts.push(await embeddings(runtime, folder, format, backend));
  backend.dispose();
  return Object.assign({}, ...parts);
}

async function writeModels(folder) {
  const { makeSyntheticEncoder, quantizeModel } = await load(here, 'runtime');
  for (const format of ['f16', 'q8_0'])
    await makeSyntheticEncoder(join(folder, `${format}.gguf`), { shape: 'minilm-l6', format });
  await quantizeModel(join(folder, 'f16.gguf'), join(folder, 'int8.gguf'), { mix: 'int8' });
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '3' }, of: { type: 'string' } },
});
if (values.of) console.log(JSON.stringify(await measure(values.of, positionals[0])));
else {
  const folder = mkdtempSync(join(tmpdir(), 'quern-time-'));
  const checkouts = [resolve(positionals[0]), here];
  const rounds = [];
  try {
    await writeModels(folder);
    const script = fileURLToPath(import.meta.url);
    for (let i = 0; i < Number(values.rounds); i++)
      rounds.push(
        checkouts.map((of) => JSON.parse(execFileSync(process.execPath, [script, '--of', of, folder]))),
      );
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const part of Object.keys(rounds[0][0])) {
    const [other, own] = [0, 1].map((which) => median(rounds.map((round) => round[which][part])));
    console.log(
      `${part.padEnd(30)} ${other.toFixed(0).padStart(6)} ${own.toFixed(0).padStart(6)} ms  × ${(own / other).toFixed(2)}`,
    );
  }
}
