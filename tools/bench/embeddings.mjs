// Embeddings, compared with onnxruntime-node and node-llama-cpp: same weights, threads and texts, in turns.
//
//   node embeddings.mjs [--shapes bge-small] [--formats int8,q8_0,f16] [--threads 2] [--peers onnxruntime-node,node-llama-cpp]
//                       [--texts 1x16,1x64,1x128,1x256,1x512,8x128,8x256,128x16] [--repeat 5] [--models ../../models/bench] [--peer node_modules]
//
// onnxruntime-node computes f32 for F16, and quantize_dynamic's int8 for other formats.
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { loadEmbedder, makeSyntheticEncoder, quantizeModel } from '../../packages/runtime/dist/index.js';
import { onnxEncoder } from './onnx-encoder.mjs';
import { median } from './statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    shapes: { type: 'string', default: 'bge-small' },
    formats: { type: 'string', default: 'int8,q8_0,f16' },
    threads: { type: 'string', default: '2' },
    peers: { type: 'string', default: 'onnxruntime-node,node-llama-cpp' },
    texts: { type: 'string', default: '1x16,1x64,1x128,1x256,1x512,8x128,8x256,128x16' },
    repeat: { type: 'string', default: '5' },
    models: { type: 'string', default: '../../models/bench' },
    peer: { type: 'string', default: 'node_modules' },
  },
});
const threads = Number(flags.threads);

/** Approximate milliseconds per turn. */
const turn = 250;
/** Milliseconds between turns: the last engine's threads fall asleep. */
const pause = 30;

/** Random weights in F16, and the same weights rounded to another format. */
async function encoderFile(shape, format) {
  const path = join(flags.models, `${shape}-${format}.gguf`);
  if (existsSync(path)) return path;
  mkdirSync(flags.models, { recursive: true });
  console.error(`making ${path} …`);
  if (format === 'f16') await makeSyntheticEncoder(path, { shape, format });
  else await quantizeModel(await encoderFile(shape, 'f16'), path, { mix: format });
  return path;
}

/**
 * `count` different texts of `length` tokens, start and end included; every letter is a token of the synthetic
 * vocabulary.
 */
function textsOf(length, count) {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: length - 2 }, (_, j) => letters[(i * 7 + j * (j + 3)) % letters.length]).join(' '),
  );
}

/** The vectors of a matrix [count, width]. */
const rowsOf = (values, count) =>
  Array.from({ length: count }, (_, i) =>
    values.subarray((i * values.length) / count, ((i + 1) * values.length) / count),
  );

const peerModule = (name) =>
  import(pathToFileURL(createRequire(join(resolve(flags.peer), 'x.js')).resolve(name)).href);

async function openQuern(file) {
  const model = await loadEmbedder(file, {
    backend: 'cpu',
    threads,
    resolveFrom: fileURLToPath(new URL('../../packages/cli', import.meta.url)),
  });
  return {
    name: 'Quern',
    tokenizer: model.tokenizer,
    embed: async (texts) => rowsOf((await model.embed(texts)).values, texts.length),
    end: async () => model.dispose(),
  };
}

/** Texts of one length per call. Quern's tokenizer tokenises; its time is not counted. */
async function openOnnxRuntime(file, int8, tokenizer) {
  const { default: ort } = await peerModule('onnxruntime-node');
  const session = await ort.InferenceSession.create(await onnxEncoder(file, { int8 }), {
    graphOptimizationLevel: 'all',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
  });
  const numbers = (values, shape) => new ort.Tensor('int64', BigInt64Array.from(values, BigInt), shape);
  return {
    name: `onnxruntime-node ${int8 ? 'int8' : 'f32'}`,
    prepare(texts) {
      const ids = texts.map((text) => tokenizer.encode(text));
      const shape = [texts.length, ids[0].length];
      return { ids: numbers(ids.flat(), shape), positions: numbers(ids[0].keys(), [1, shape[1]]) };
    },
    async embed(feeds) {
      const { embeddings } = await session.run(feeds);
      return rowsOf(embeddings.data, embeddings.dims[0]);
    },
    end: () => session.release(),
  };
}

async function openNodeLlamaCpp(file) {
  const { getLlama, LlamaLogLevel } = await peerModule('node-llama-cpp');
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    maxThreads: threads,
    logLevel: LlamaLogLevel.error,
  });
  const model = await llama.loadModel({ modelPath: file });
  // It refuses a text as long as its context: one token more than the longest text.
  const context = await model.createEmbeddingContext({ contextSize: 513, batchSize: 513, threads });
  return {
    name: 'node-llama-cpp',
    embed: async (texts) => {
      const all = await Promise.all(texts.map((text) => context.getEmbeddingFor(text)));
      return all.map(({ vector }) => vector);
    },
    end: async () => llama.dispose(),
  };
}

async function openEngines(shape, format) {
  const file = await encoderFile(shape, format);
  const quern = await openQuern(file);
  const engines = [quern];
  const names = flags.peers.split(',');
  if (names.includes('onnxruntime-node'))
    engines.push(await openOnnxRuntime(await encoderFile(shape, 'f16'), format !== 'f16', quern.tokenizer));
  if (names.includes('node-llama-cpp')) engines.push(await openNodeLlamaCpp(file));
  return engines;
}

function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] ** 2;
    bb += b[i] ** 2;
  }
  return dot / Math.sqrt(aa * bb);
}

const embedded = (engine, texts) => engine.embed(engine.prepare ? engine.prepare(texts) : texts);

/** The least cosine between an engine's vectors and the f32 weights' vectors, over texts of several lengths. */
async function compareVectors(shape, engines) {
  const float = await openQuern(await encoderFile(shape, 'f32'));
  for (const engine of engines) {
    const cosines = [];
    for (const length of [16, 100, 256]) {
      const texts = textsOf(length, 4);
      const [ours, theirs] = [await embedded(float, texts), await embedded(engine, texts)];
      cosines.push(...ours.map((vector, i) => cosine(vector, theirs[i])));
    }
    console.log(`  ${engine.name}: cosine to the float vectors at least ${Math.min(...cosines).toFixed(5)}`);
  }
  await float.end();
}

/** Tokens per second of a turn: sequential calls, after one uncounted call. */
async function rate(engine, texts, tokens) {
  const input = engine.prepare ? engine.prepare(texts) : texts;
  await engine.embed(input);
  const start = performance.now();
  let calls = 0;
  for (; calls === 0 || performance.now() - start < turn; calls++) await engine.embed(input);
  return (1000 * calls * tokens) / (performance.now() - start);
}

async function compareRates(engines, count, length) {
  const texts = textsOf(length, count);
  const rates = engines.map(() => []);
  for (let i = 0; i < Number(flags.repeat); i++)
    for (const [side, engine] of engines.entries()) {
      await wait(pause);
      rates[side].push(await rate(engine, texts, length * count));
    }
  const [quern, ...others] = rates.map(median);
  const beside = others.map(
    (other, i) => `${engines[i + 1].name} ${Math.round(other)} (${(quern / other).toFixed(2)}×)`,
  );
  console.log(`  ${count} of ${length} tokens: Quern ${Math.round(quern)} tokens/s, ${beside.join(', ')}`);
}

for (const shape of flags.shapes.split(','))
  for (const format of flags.formats.split(',')) {
    const engines = await openEngines(shape, format);
    console.log(`${shape} ${format}, ${threads} threads`);
    await compareVectors(shape, engines);
    for (const texts of flags.texts.split(',')) await compareRates(engines, ...texts.split('x').map(Number));
    for (const engine of engines) await engine.end();
  }
