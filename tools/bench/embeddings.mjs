// Embeddings beside node-llama-cpp: the same file, the same threads, the same texts, in turns.
//
//   node embeddings.mjs [--shapes bge-small] [--formats q8_0,f16] [--threads 2] [--lengths 16,64,256,500]
//                       [--repeat 3] [--models ../../models/bench] [--peer node_modules]
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { loadEmbedder, makeSyntheticEncoder } from '../../packages/runtime/dist/index.js';
import { median } from './statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    shapes: { type: 'string', default: 'bge-small' },
    formats: { type: 'string', default: 'q8_0,f16' },
    threads: { type: 'string', default: '2' },
    lengths: { type: 'string', default: '16,64,256,500' },
    repeat: { type: 'string', default: '3' },
    models: { type: 'string', default: '../../models/bench' },
    peer: { type: 'string', default: 'node_modules' },
  },
});

/** Tokens of a turn, about. */
const tokensOfTurn = 2048;

async function encoderFile(shape, format) {
  const path = join(flags.models, `${shape}-${format}.gguf`);
  if (existsSync(path)) return path;
  mkdirSync(flags.models, { recursive: true });
  console.error(`making ${path} …`);
  await makeSyntheticEncoder(path, { shape, format });
  return path;
}

/** Different texts of so many tokens each, start and end included; every letter is a token of the synthetic vocabulary. */
function textsOf(length, count) {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: length - 2 }, (_, j) => letters[(i * 7 + j * (j + 3)) % letters.length]).join(' '),
  );
}

async function openQuern(file, threads) {
  const model = await loadEmbedder(file, {
    backend: 'cpu',
    threads,
    resolveFrom: fileURLToPath(new URL('../../packages/cli', import.meta.url)),
  });
  return {
    embed: async (texts) => {
      const { values, dimensions } = await model.embed(texts);
      return texts.map((_, i) => values.subarray(i * dimensions, (i + 1) * dimensions));
    },
    end: async () => model.dispose(),
  };
}

async function openPeer(file, threads) {
  const entry = join(resolve(flags.peer), 'node-llama-cpp/dist/index.js');
  const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry).href);
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    maxThreads: threads,
    logLevel: LlamaLogLevel.error,
  });
  const model = await llama.loadModel({ modelPath: file });
  const context = await model.createEmbeddingContext({ contextSize: 512, batchSize: 512, threads });
  return {
    embed: async (texts) => {
      const all = await Promise.all(texts.map((text) => context.getEmbeddingFor(text)));
      return all.map(({ vector }) => vector);
    },
    end: async () => llama.dispose(),
  };
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

async function rate(engine, texts, length) {
  const start = performance.now();
  await engine.embed(texts);
  return (1000 * texts.length * length) / (performance.now() - start);
}

/** Tokens per second of both, in turns, after both have given the same embeddings. */
async function compare(engines, length, count) {
  const texts = textsOf(length, count);
  const [ours, theirs] = await Promise.all(engines.map((engine) => engine.embed(texts.slice(0, 4))));
  const agreement = Math.min(...ours.map((vector, i) => cosine(vector, theirs[i])));
  const rates = [[], []];
  for (let turn = 0; turn < Number(flags.repeat); turn++)
    for (const [side, engine] of engines.entries()) rates[side].push(await rate(engine, texts, length));
  const [quern, peer] = rates.map(median);
  console.log(
    `${length} tokens × ${count}: Quern ${Math.round(quern)} tokens/s, node-llama-cpp ${Math.round(peer)}: ` +
      `${(quern / peer).toFixed(2)}×; cosine at least ${agreement.toFixed(5)}`,
  );
}

for (const shape of flags.shapes.split(','))
  for (const format of flags.formats.split(',')) {
    const file = await encoderFile(shape, format);
    const engines = [
      await openQuern(file, Number(flags.threads)),
      await openPeer(file, Number(flags.threads)),
    ];
    console.log(`${shape} ${format}, ${flags.threads} threads`);
    for (const length of flags.lengths.split(',').map(Number)) {
      await compare(engines, length, 1);
      await compare(engines, length, Math.max(2, Math.floor(tokensOfTurn / length)));
    }
    for (const engine of engines) await engine.end();
  }
