// Idle time of a device between steps: one plan in flight with core's chains, and two plans in flight with its own
// chains.
//   node tools/measure/idle-time.mjs [--rounds 7]
// The device is the conformance kit's test device: a thread with its own memory that records start and end of each plan
// or chain. A step takes 4 ms without CPU, like a GPU's, plus the time of the op definitions. Measured: the time
// between steps, which is JavaScript's. Everything runs from sources.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
const rounds = Number(values.rounds);
const root = fileURLToPath(new URL('../../', import.meta.url));
const require = createRequire(realpathSync(join(root, 'node_modules/tsup/package.json')));
const esbuild = require('esbuild');

const folder = mkdtempSync(join(tmpdir(), 'quern-idle-time-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Keeps `import.meta.url` of each source in the single bundled file. */
const keepUrls = {
  name: 'keep-urls',
  setup: (build) =>
    build.onLoad({ filter: /packages\/.*\.ts$/ }, async ({ path }) => {
      const { readFile } = await import('node:fs/promises');
      const url = JSON.stringify(pathToFileURL(path).href);
      return {
        contents: (await readFile(path, 'utf8')).replace(/(?<!')import\.meta\.url/g, url),
        loader: 'ts',
      };
    }),
};

const source = (name) => join(root, 'packages', name, 'src/index.ts');
const packages = ['core', 'quant', 'grammar', 'models', 'runtime', 'backend-reference'];

async function loadSources() {
  const outfile = join(folder, 'sources.mjs');
  const entry = `
    export { defineBackend } from '@quern/core';
    export { makeSyntheticEncoder } from '@quern/models';
    export { loadEmbedder, loadModel } from '@quern/runtime';
    export { testDevice } from './packages/conformance/test/device/driver.ts';
    export { writeTinyModel } from './packages/runtime/test/tiny-model.ts';`;
  await esbuild.build({
    stdin: { contents: entry, resolveDir: root, loader: 'ts' },
    ...{ bundle: true, outfile, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
    alias: {
      '@quern/core/testing': join(root, 'packages/core/src/testing/index.ts'),
      ...Object.fromEntries(packages.map((name) => [`@quern/${name}`, source(name)])),
    },
    plugins: [keepUrls],
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
  });
  return import(pathToFileURL(outfile).href);
}

const { defineBackend, loadEmbedder, loadModel, makeSyntheticEncoder, testDevice, writeTinyModel } =
  await loadSources();

const modelPath = await writeTinyModel();
const encoderPath = join(folder, 'encoder.gguf');
await makeSyntheticEncoder(encoderPath, { shape: 'tiny', format: 'f32' });
process.on('exit', () => rmSync(dirname(modelPath), { recursive: true, force: true }));

const words = (count) =>
  'the cat a dog '
    .repeat(Math.ceil(count / 4))
    .trim()
    .split(' ')
    .slice(0, count)
    .join(' ');
const greedy = { temperature: 0, ignoreEos: true };

/** Workloads by name; each returns a function that runs it once. */
const workloads = {
  'a prompt in chunks of 8': async (backend) => {
    const model = await loadModel(modelPath, { backend, prefillChunk: 8 });
    return {
      run: () => model.generate(words(24), { ...greedy, maxTokens: 1, reuse: false }).result,
      end: () => model.dispose(),
    };
  },
  '4 streams of 32 tokens': async (backend) => {
    const model = await loadModel(modelPath, { backend, sequences: 4 });
    const stream = (_, i) => model.generate(words(1 + i), { ...greedy, maxTokens: 32, reuse: false }).result;
    return { run: () => Promise.all(Array.from({ length: 4 }, stream)), end: () => model.dispose() };
  },
  '96 texts in encoder batches': async (backend) => {
    const embedder = await loadEmbedder(encoderPath, { backend });
    const texts = Array.from({ length: 96 }, (_, i) => words(6 + (i % 6)));
    return { run: () => embedder.embed(texts), end: () => embedder.dispose() };
  },
};

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** Steps, busy time, and idle time between steps, from the device's recorded spans. */
function idleOf(spans) {
  const gaps = spans.slice(1).map(([begin], i) => Math.max(0, begin - spans[i][1]));
  const busy = spans.reduce((sum, [begin, end]) => sum + end - begin, 0);
  return { steps: spans.length, busy, idle: gaps.reduce((sum, gap) => sum + gap, 0), gap: median(gaps) };
}

async function measure(workload, options) {
  const device = await testDevice({ ...options, pace: 4 });
  const backend = defineBackend(device);
  const { run, end } = await workload(backend);
  for (let i = 0; i < 3; i++) await run(); // compiles and captures
  const seen = [];
  for (let i = 0; i < rounds; i++) {
    const from = device.spans.length;
    await run();
    seen.push(idleOf(device.spans.slice(from)));
  }
  end();
  backend.dispose();
  return seen.reduce((a, b) => (a.idle < b.idle ? a : b));
}

const settings = {
  'one plan in flight, chains by core': { plansInFlight: 1, chains: false },
  'two plans in flight, chains by the device': { plansInFlight: 2, chains: true },
};

const cell = (value, digits) => value.toFixed(digits).padStart(8);

console.log(`of ${rounds} rounds the one with the least idle time, in ms; a chain is one step of the device`);
for (const [name, workload] of Object.entries(workloads)) {
  console.log(`\n${name}`);
  for (const [setting, options] of Object.entries(settings)) {
    const { steps, busy, idle, gap } = await measure(workload, options);
    const share = (100 * idle) / (busy + idle);
    console.log(
      `  ${setting.padEnd(42)} steps ${String(steps).padStart(3)}  at work ${cell(busy, 1)}  idle ${cell(idle, 2)} (${share.toFixed(0).padStart(2)} %)  between two steps ${cell(gap, 3)}`,
    );
  }
}
