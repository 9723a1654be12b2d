// Speed of models of true shapes with random weights, as shares of the ceilings. QUERN_GPU_MODELS: a pattern of their names.
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  describeModel,
  kvCacheBytes,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  makeSyntheticEncoder,
  makeSyntheticModel,
  makeSyntheticSpeechModel,
  modelShapes,
  openModelFile,
} from '@quern/runtime';
import { ceilingsOf, showCeilings } from './ceilings.mjs';
import { owning, withDevice } from './device.mjs';
import { writeGptqFolder } from './gptq-folder.mjs';
import { decode, prefill } from './sequences.mjs';
import { kit, machineOf, saveUnfinished, secondsLeft, small, writeResults } from './setting.mjs';

/** Memory rather than a disk, if 20 GB fit: files are written, read once, removed. */
function scratch() {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize > 20e9) return mkdtempSync('/dev/shm/quern-');
  } catch {
    // No such folder.
  }
  return mkdtempSync(join(tmpdir(), 'quern-'));
}
const folder = scratch();
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.on('SIGTERM', () => process.exit(1)); // run.sh: the time is up

const works = [];
const skipped = [];
let ceilings;
let machine;

const results = () => ({ machine, ceilings, works, skipped });

function report(model, work, figures) {
  works.push({ model, work, ...figures });
  saveUnfinished('models', results());
  const { failed, tokensPerSecond, milliseconds, share, of, javascript } = figures;
  if (failed) return console.log(`FAILED ${model}, ${work}: ${failed}`);
  const shown = share === undefined ? '' : `, ${(100 * share).toFixed(1)} % of ${of}`;
  const script = javascript === undefined ? '' : `, JavaScript ${(1000 * javascript).toFixed(0)} µs`;
  console.log(
    `${model}, ${work}: ${tokensPerSecond.toFixed(1)} tokens/s, ${milliseconds.toPrecision(4)} ms${shown}${script}`,
  );
}

/** One work, unless the time is up. A failure does not end the part. */
async function measure(model, work, act) {
  if (secondsLeft() < 15) return skipped.push(`${model}, ${work}`);
  try {
    report(model, work, await act());
  } catch (error) {
    report(model, work, { failed: `${error.code ?? error.name}: ${error.message}` });
  }
}

/** Bytes that a step reads: the weights once, and the keys and values of each sequence. */
const stepBytes = ({ description, model }, batch, keys) =>
  description.bytesPerToken +
  batch * keys * kvCacheBytes({ ...model.config, dtype: model.plan.cacheDtype }, 1);

async function decodeWork(subject, options) {
  const { tokens, batch = 1, depth = 0 } = options;
  const { milliseconds, javascript } = await decode(subject.model, options, small ? 1 : 3);
  const bytes = stepBytes(subject, batch, depth + 1.5 * tokens);
  return {
    tokensPerSecond: (1000 * batch) / milliseconds,
    milliseconds,
    javascript,
    bytes,
    share: (1000 * bytes) / milliseconds / ceilings.copyBandwidth.value,
    of: 'copy bandwidth',
  };
}

/** 2 operations per weight of the layers and token; in attention 4 per element of a query and key. */
function prefillFlops({ config, activeParameters }, tokens) {
  const { vocabulary, width, tied, layers, heads, headDim } = config;
  const ofLayers = activeParameters - vocabulary * width * (tied ? 1 : 2);
  return tokens * (2 * ofLayers + 2 * layers * heads * headDim * (tokens + 1));
}

async function prefillWork({ model, description }, tokens) {
  const { milliseconds } = await prefill(model, tokens, small ? 1 : 3);
  const flops = prefillFlops(description, tokens);
  return {
    tokensPerSecond: (1000 * tokens) / milliseconds,
    milliseconds,
    flops,
    share: (1000 * flops) / milliseconds / ceilings.bf16Rate.value,
    of: `bf16 rate (${ceilings.bf16Rate.by})`,
  };
}

/** Share of the slowdown at a depth that the time for its bytes explains. */
function explained(name, shallow, deep) {
  const [at0, atDepth] = [shallow, deep].map((work) =>
    works.find((one) => one.model === name && one.work === work && !one.failed),
  );
  if (!at0 || !atDepth) return;
  const slower = atDepth.milliseconds - at0.milliseconds;
  const ofBytes = (1000 * (atDepth.bytes - at0.bytes)) / ceilings.copyBandwidth.value;
  atDepth.explained = ofBytes / slower;
  console.log(
    `${name}, ${deep}: its bytes explain ${(100 * atDepth.explained).toFixed(0)} % of the slowdown`,
  );
}

const tokens = small ? 2 : 64;
const promptTokens = small ? 8 : 2048;
const depth = small ? 32 : 32768;

/** Loads a model once for some works. `context` and `sequences` size its cache. */
async function withModel(backend, path, options, use) {
  const description = describeModel(await openModelFile(path), backend);
  const model = await loadModel(path, { backend, prefillChunk: 2048, ...options });
  await owning(model, () => use({ model, description }));
}

/** Works of language models: [load options, works]. */
const workLoads = {
  one: async (backend, name, path) =>
    withModel(backend, path, { context: promptTokens + 4 * tokens + 8 }, async (subject) => {
      await measure(name, 'decode', () => decodeWork(subject, { tokens }));
      await measure(name, `prefill ${promptTokens}`, () => prefillWork(subject, promptTokens));
    }),
  deep: async (backend, name, path) =>
    withModel(backend, path, { context: depth + 4 * tokens + 8 }, async (subject) => {
      await measure(name, 'decode', () => decodeWork(subject, { tokens }));
      await measure(name, `decode at depth ${depth}`, () => decodeWork(subject, { tokens, depth }));
      explained(name, 'decode', `decode at depth ${depth}`);
    }),
  many: async (backend, name, path) => {
    const batches = small ? [2] : [16, 64, 256];
    const options = { context: 4 * tokens + 8, sequences: batches.at(-1) };
    await withModel(backend, path, options, async (subject) => {
      for (const batch of batches)
        await measure(name, `decode × ${batch}`, () => decodeWork(subject, { tokens, batch }));
    });
  },
};

/** A language model, written and removed. */
async function language(backend, name, write, loads) {
  const path = await write();
  try {
    for (const load of loads) await workLoads[load](backend, name, path);
  } finally {
    if (path.startsWith(folder)) rmSync(path, { recursive: true });
  }
}

const synthetic = (shape, format) => async () => {
  const path = join(folder, `${shape}-${format}.gguf`);
  await makeSyntheticModel(path, { shape, format });
  return path;
};

const gptq = (shape) => async () => {
  const path = join(folder, 'gptq');
  writeGptqFolder(path, shape);
  return path;
};

const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/** Texts of `length` tokens, start and end included: every letter is one. */
const textsOf = (count, length, seed) =>
  Array.from({ length: count }, (_, i) =>
    Array.from({ length: length - 2 }, (_, j) => letters[(seed + 7 * i + j * (j + 3)) % 26]).join(' '),
  );

async function embedWork(model, batch, length) {
  const times = [];
  for (let i = 0; i <= (small ? 1 : 5); i++) {
    const texts = textsOf(batch, length, i);
    const from = performance.now();
    const { tokens: count } = await model.embed(texts);
    if (count !== batch * length) throw new Error(`${count} tokens instead of ${batch * length}`);
    if (i > 0) times.push(performance.now() - from);
  }
  const milliseconds = times.sort((a, b) => a - b)[times.length >> 1];
  const { layers, width, feedForward } = model.config;
  const flops = batch * length * layers * (8 * width * width + 4 * width * feedForward + 4 * width * length);
  return {
    tokensPerSecond: (1000 * batch * length) / milliseconds,
    milliseconds,
    share: (1000 * flops) / milliseconds / ceilings.bf16Rate.value,
    of: `bf16 rate (${ceilings.bf16Rate.by})`,
  };
}

async function encoder(backend, name) {
  const path = join(folder, `${name}.gguf`);
  await makeSyntheticEncoder(path, { shape: small ? 'tiny' : 'bge-small', format: 'f16' });
  await owning(await loadEmbedder(path, { backend }), async (model) => {
    const length = small ? 8 : 128;
    for (const batch of small ? [2] : [1, 64, 256, 1024])
      await measure(name, `${batch} texts of ${length}`, () => embedWork(model, batch, length));
  });
}

async function speechWork(model) {
  const { context } = model.config.encoder;
  const sampleRate = 16_000;
  const samples = Float32Array.from(
    { length: (context * sampleRate) / 50 },
    (_, i) => 0.3 * Math.sin(i / 20),
  );
  const times = [];
  for (let i = 0; i <= (small ? 1 : 5); i++) {
    const { stages } = await model.transcribe(
      { sampleRate, samples },
      { language: 'en', temperatures: [0], noSpeechThreshold: 1, maxTokens: 4, ignoreEnd: true },
    ).result;
    if (i > 0) times.push(stages.encodeMs / stages.windows);
  }
  const milliseconds = times.sort((a, b) => a - b)[times.length >> 1];
  return { tokensPerSecond: (1000 * context) / milliseconds, milliseconds };
}

async function speech(backend, name) {
  const path = join(folder, `${name}.gguf`);
  await makeSyntheticSpeechModel(path, { shape: small ? 'whisper-test' : 'whisper-tiny', format: 'f16' });
  await owning(await loadSpeechModel(path, { backend }), (model) =>
    measure(name, 'one window, encoder', () => speechWork(model)),
  );
}

const tinyGptq = {
  layers: 2,
  width: 128,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  feedForward: 256,
  vocabulary: 300,
  context: 256,
  theta: 1e4,
  rmsEps: 1e-5,
};
const demo = async () => join(kit, 'node_modules/@quern/demo-model/model/quern-demo.gguf');

/** Seconds that must be left to start a subject: files of 16 GB are written and loaded. */
const needed = { large: 150, little: 60 };

/** [name, size, measurement], what matters most first; a long prompt, which fills the cache, last. */
const subjects = small
  ? [
      ['demo', 'little', (...on) => language(...on, demo, ['one', 'many'])],
      ['demo, deep', 'little', (...on) => language(...on, demo, ['deep'])],
      ['tiny GPTQ', 'little', (...on) => language(...on, gptq(tinyGptq), ['one'])],
      ['tiny', 'little', encoder],
      ['whisper-test', 'little', speech],
    ]
  : [
      ['llama-3.1-8b bf16', 'large', (...on) => language(...on, synthetic('llama-3.1-8b', 'bf16'), ['one'])],
      [
        'llama-3.1-8b q4_k_m',
        'large',
        (...on) => language(...on, synthetic('llama-3.1-8b', 'q4_k_m'), ['one']),
      ],
      ['qwen3-0.6b bf16', 'little', (...on) => language(...on, synthetic('qwen3-0.6b', 'bf16'), ['one'])],
      ['bge-small f16', 'little', encoder],
      ['whisper-tiny f16', 'little', speech],
      ['qwen3-8b bf16', 'large', (...on) => language(...on, synthetic('qwen3-8b', 'bf16'), ['many'])],
      ['llama-3.1-8b q8_0', 'large', (...on) => language(...on, synthetic('llama-3.1-8b', 'q8_0'), ['one'])],
      [
        'llama-3.1-8b gptq int4',
        'large',
        (...on) => language(...on, gptq(modelShapes['llama-3.1-8b']), ['one']),
      ],
      [
        'llama-3.1-8b bf16, deep',
        'large',
        (...on) => language(...on, synthetic('llama-3.1-8b', 'bf16'), ['deep']),
      ],
    ];

async function measureAll(backend) {
  const wanted = new RegExp(process.env.QUERN_GPU_MODELS ?? '');
  for (const [name, size, act] of subjects.filter(([each]) => wanted.test(each))) {
    if (secondsLeft() < needed[size]) {
      skipped.push(name);
      continue;
    }
    try {
      await act(backend, name);
    } catch (error) {
      report(name, 'loading', { failed: `${error.code ?? error.name}: ${error.message}` });
    }
  }
}

await withDevice(true, async (backend) => {
  ceilings = await ceilingsOf(backend);
  machine = machineOf(backend);
  showCeilings(ceilings);
  await measureAll(backend);
  if (skipped.length > 0) console.log(`not measured, the time was up: ${skipped.join('; ')}`);
  writeResults('models', results());
});
if (works.some(({ failed }) => failed)) process.exitCode = 1;
