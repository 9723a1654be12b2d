// Speed, load time and memory of two checkouts, for a change that must cost nothing. They run in turns, each first in
// every other round, in processes of their own.
//   node tools/measure/before-after.mjs OTHER_CHECKOUT [--rounds 7] [--only PART_OF_A_NAME]
// Both must be built. Models of true shape with random weights are made first. Prints Markdown: medians of both (quartiles),
// and the median of the rounds' ratios, above 1 where this checkout is better.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const here = fileURLToPath(new URL('../..', import.meta.url));
const demo = join(here, 'packages/demo-model/model/quern-demo.gguf');
const load = (checkout, name) => import(pathToFileURL(join(checkout, `packages/${name}/dist/index.js`)).href);

const idsOf = (count, stream = 0) => Array.from({ length: count }, (_, i) => 10 + ((i * 37 + stream) % 1500));
const greedy = { temperature: 0, ignoreEos: true };

async function seconds(act) {
  const start = performance.now();
  await act();
  return (performance.now() - start) / 1000;
}

/** Tokens/s of S concurrent streams of n tokens. */
async function streams(model, S, n, options = greedy) {
  const run = (_, s) => model.generate(idsOf(10, s), { ...options, seed: s, maxTokens: n }).result;
  return (S * n) / (await seconds(() => Promise.all(Array.from({ length: S }, run))));
}

const prompt = async (model, n) =>
  n / (await seconds(() => model.generate(idsOf(n), { ...greedy, maxTokens: 1 }).result));

/** A page of memory that the machine touches for the first time costs more than a step: one of three is free of it. */
async function medianOf3(act) {
  const found = [await act(), await act(), await act()];
  return found.sort((a, b) => a - b)[1];
}

async function second(act) {
  await act();
  return act();
}

const loading = async (runtime, backend, path) => {
  let model;
  const taken = await seconds(async () => {
    model = await runtime.loadModel(path, { backend, sequences: 8, context: 1024 });
  });
  return [model, 1000 * taken];
};

async function ofDemo(runtime, backend) {
  const [model, ms] = await loading(runtime, backend, demo);
  const found = {
    'demo: load, ms': ms,
    'demo: first 200 tokens, tokens/s': await streams(model, 1, 200),
    'demo: first 8 streams of 200, tokens/s': await streams(model, 8, 200),
  };
  for (let i = 0; i < 4; i++) await streams(model, 8, 200);
  for (let i = 0; i < 4; i++) await streams(model, 1, 200);
  found['demo: second prompt of 400, tokens/s'] = await second(() => prompt(model, 400));
  for (let i = 0; i < 40; i++) await prompt(model, 400);
  found['demo: prompt of 400, warm, tokens/s'] = await medianOf3(() => prompt(model, 400));
  found['demo: 1 stream of 480, tokens/s'] = await streams(model, 1, 480);
  found['demo: 1 stream of 480, sampled, tokens/s'] = await streams(model, 1, 480, { ignoreEos: true });
  found['demo: 8 streams of 200, tokens/s'] = await streams(model, 8, 200);
  found['demo: 8 streams of 480, tokens/s'] = await streams(model, 8, 480);
  globalThis.gc();
  found['demo: resident after garbage collection, MB'] = process.memoryUsage.rss() / 1e6;
  model.dispose();
  return found;
}

async function ofLanguageModel(runtime, backend, folder) {
  const [model, ms] = await loading(runtime, backend, join(folder, 'qwen3.gguf'));
  await prompt(model, 512);
  await streams(model, 8, 8);
  const found = {
    'qwen3-0.6b Q4_K_M: load, ms': ms,
    'qwen3-0.6b Q4_K_M: prompt of 512, tokens/s': await prompt(model, 512),
    'qwen3-0.6b Q4_K_M: 1 stream of 64, tokens/s': await streams(model, 1, 64),
    'qwen3-0.6b Q4_K_M: 8 streams of 32, tokens/s': await medianOf3(() => streams(model, 8, 32)),
    'qwen3-0.6b Q4_K_M: resident, MB': process.memoryUsage.rss() / 1e6,
  };
  model.dispose();
  return found;
}

async function ofEncoder(runtime, backend, folder) {
  const model = await runtime.loadEmbedder(join(folder, 'encoder.gguf'), { backend });
  const texts = Array.from({ length: 32 }, (_, i) => `${'abc def ghi jkl mno '.repeat(6)}${i}`);
  await model.embed(texts);
  const found = {
    'minilm-l6 Q8_0: 32 texts of 100 tokens, texts/s': 32 / (await seconds(() => model.embed(texts))),
    'minilm-l6 Q8_0: a text of 14 tokens, ms':
      50 *
      (await seconds(async () => {
        for (let i = 0; i < 20; i++) await model.embed([`a quick test ${i}`]);
      })),
  };
  model.dispose();
  return found;
}

async function ofSpeech(runtime, backend, folder) {
  const model = await runtime.loadSpeechModel(join(folder, 'whisper.gguf'), { backend });
  const samples = Float32Array.from({ length: 16_000 * 30 }, (_, i) => 0.3 * Math.sin((i * i) / 2e8));
  const run = () =>
    model.transcribe({ samples, sampleRate: 16_000 }, { language: 'en', temperatures: [0] }).result;
  await run();
  const found = { 'whisper-tiny Q8_0: 30 s of sound, ms': 1000 * (await medianOf3(() => seconds(run))) };
  model.dispose();
  return found;
}

const works = { demo: ofDemo, qwen3: ofLanguageModel, encoder: ofEncoder, speech: ofSpeech };

/** One work, by one checkout, in this process. */
async function measure(checkout, work, folder) {
  const [runtime, { createBackend }] = [await load(checkout, 'runtime'), await load(checkout, 'backend-cpu')];
  const backend = await createBackend();
  const found = await works[work](runtime, backend, folder);
  backend.dispose();
  return found;
}

async function writeModels(folder) {
  const runtime = await load(here, 'runtime');
  await runtime.makeSyntheticModel(join(folder, 'qwen3.gguf'), { shape: 'qwen3-0.6b', format: 'q4_k_m' });
  await runtime.makeSyntheticEncoder(join(folder, 'encoder.gguf'), { shape: 'minilm-l6', format: 'q8_0' });
  await runtime.makeSyntheticSpeechModel(join(folder, 'whisper.gguf'), {
    shape: 'whisper-tiny',
    format: 'q8_0',
  });
}

/** Value below which a fraction of the values lies. */
const quantile = (values, fraction) =>
  [...values].sort((a, b) => a - b)[Math.floor(fraction * values.length)];
const show = (x) => (x >= 100 ? x.toFixed(0) : x.toPrecision(3));
const spread = (values) =>
  `${show(quantile(values, 0.5))} (${show(quantile(values, 0.25))}–${show(quantile(values, 0.75))})`;

/** Markdown row of a figure: [round][before, after]. */
function row(name, rounds) {
  const less = /, (ms|MB)$/.test(name); // less is better
  const [before, after] = [0, 1].map((which) => rounds.map((round) => round[which]));
  const ratios = rounds.map(([a, b]) => (less ? a / b : b / a));
  return `| ${name} | ${spread(before)} | ${spread(after)} | ${quantile(ratios, 0.5).toFixed(2)} |`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
    of: { type: 'string' },
  },
});
if (values.of) console.log(JSON.stringify(await measure(values.of, ...positionals)));
else {
  const folder = mkdtempSync(join(tmpdir(), 'quern-before-after-'));
  const checkouts = [resolve(positionals[0]), here];
  const run = (work) => (of) =>
    JSON.parse(execFileSync(process.execPath, ['--expose-gc', script, '--of', of, work, folder]));
  const script = fileURLToPath(import.meta.url);
  try {
    await writeModels(folder);
    console.log('| work | before | after | ratio |\n| --- | --- | --- | --- |');
    for (const work of Object.keys(works).filter((name) => name.includes(values.only))) {
      const both = (_, round) =>
        round % 2 === 0 ? checkouts.map(run(work)) : [...checkouts].reverse().map(run(work)).reverse();
      const rounds = Array.from({ length: Number(values.rounds) }, both);
      for (const name of Object.keys(rounds[0][0]))
        console.log(
          row(
            name,
            rounds.map((round) => round.map((found) => found[name])),
          ),
        );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
