// The models that are measured: their files, and the works of each.
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  makeSyntheticEncoder,
  makeSyntheticModel,
  makeSyntheticSpeechModel,
  modelShapes,
} from '@quern/runtime';
import { writeGptqFolder } from './gptq-folder.mjs';
import { kit, small } from './setting.mjs';

/** Bytes of a file of a shape: a little more than there are. */
function bytesOf({ layers, width, heads, kvHeads, headDim, feedForward, vocabulary, tied }, format) {
  const ofLayer = width * headDim * 2 * (heads + kvHeads) + 3 * width * feedForward;
  const weights = layers * ofLayer + vocabulary * width * (tied ? 1 : 2);
  const ofWeight = { bf16: 2, q8_0: 1.07, q4_k_m: 0.63 };
  return 1.02 * weights * ofWeight[format] + 1e7;
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
  normEps: 1e-5,
};
const gptqShape = small ? tinyGptq : modelShapes['llama-3.1-8b'];

/** A dry run has the demo model in the place of all others. */
const demo = join(kit, 'node_modules/@quern/demo-model/model/quern-demo.gguf');

const synthetic = (shape, format) => ({
  name: `${shape}-${format}.gguf`,
  bytes: small ? statSync(demo).size : bytesOf(modelShapes[shape], format),
  write: async (path) => (small ? copyFileSync(demo, path) : makeSyntheticModel(path, { shape, format })),
});

/** { name, bytes, write(path) } of each file. */
export const files = Object.fromEntries(
  [
    synthetic('qwen3-0.6b', 'bf16'),
    synthetic('llama-3.1-8b', 'q4_k_m'),
    synthetic('llama-3.1-8b', 'bf16'),
    synthetic('qwen3-8b', 'bf16'),
    synthetic('llama-3.1-8b', 'q8_0'),
    {
      name: 'gptq',
      bytes: small ? 1e7 : 5e9,
      write: async (path) => writeGptqFolder(path, gptqShape),
    },
    {
      name: 'encoder.gguf',
      bytes: 1e8,
      write: (path) => makeSyntheticEncoder(path, { shape: small ? 'tiny' : 'bge-small', format: 'f16' }),
    },
    {
      name: 'speech.gguf',
      bytes: 1e8,
      write: (path) =>
        makeSyntheticSpeechModel(path, { shape: small ? 'whisper-test' : 'whisper-tiny', format: 'f16' }),
    },
  ].map((file) => [file.name, file]),
);

const prompt = small ? 8 : 2048;
const deep = small ? 32 : 32768;

const decode = (options = {}) => ({ kind: 'decode', ...options });
const prefill = { kind: 'prefill', tokens: prompt };

/** Times of each op of one step: of sequences with `rows` new tokens each, behind `depth`. */
const step = (name, sequences, rows = 1, depth = small ? 16 : 512) => ({ name, sequences, rows, depth });
const stepOfPrompt = step(`a prompt of ${prompt}`, 1, prompt, 0);

/** A load of the model: how, and the works with it. `steps`: times per op. */
const load = (works, options = {}) => ({ works, options });

/**
 * What is measured, in order, with the seconds that each may take on an H100: [name, file, { seconds, loads, steps, env }]. The name is the model's in
 * all tables.
 */
const languageModels = [
  [
    'qwen3-0.6b bf16',
    'qwen3-0.6b-bf16.gguf',
    {
      seconds: 24,
      loads: [load([decode(), decode({ sampled: true }), prefill])],
      steps: [step('decode', 1), stepOfPrompt],
    },
  ],
  [
    'qwen3-0.6b bf16, QUERN_CUDA_DEPENDENT=0',
    'qwen3-0.6b-bf16.gguf',
    { seconds: 10, loads: [load([decode()])], env: { QUERN_CUDA_DEPENDENT: '0' } },
  ],
  [
    'llama-3.1-8b q4_k_m',
    'llama-3.1-8b-q4_k_m.gguf',
    {
      seconds: 58,
      loads: [
        load([decode(), decode({ batch: 4 }), decode({ batch: 8 }), prefill]),
        load([{ ...prefill, chunk: 512 }], { prefillChunk: small ? 4 : 512 }),
      ],
      steps: [step('decode', 1), step('decode × 8', 8), stepOfPrompt],
    },
  ],
  [
    'llama-3.1-8b bf16',
    'llama-3.1-8b-bf16.gguf',
    {
      seconds: 70,
      loads: [load([decode(), prefill, decode({ depth: deep })])],
      steps: [step('decode', 1), stepOfPrompt, step(`decode at depth ${deep}`, 1, 1, deep)],
    },
  ],
  [
    'qwen3-8b bf16',
    'qwen3-8b-bf16.gguf',
    {
      seconds: 76,
      loads: [load((small ? [2] : [16, 64, 256]).map((batch) => decode({ batch })))],
      steps: (small ? [2] : [16, 64, 256]).map((batch) =>
        step(`decode × ${batch}`, batch, 1, small ? 16 : 128),
      ),
    },
  ],
  ['llama-3.1-8b q8_0', 'llama-3.1-8b-q8_0.gguf', { seconds: 35, loads: [load([decode(), prefill])] }],
  ['llama-3.1-8b gptq int4', 'gptq', { seconds: 35, loads: [load([decode(), prefill])] }],
];
const others = [
  ['bge-small f16', 'encoder.gguf', { seconds: 15, kind: 'encoder' }],
  ['whisper-tiny f16', 'speech.gguf', { seconds: 15, kind: 'speech' }],
];

/** [{ name, file, seconds, loads, steps, env, kind }] */
export const subjects = [...languageModels, ...others].map(([name, file, rest]) => ({
  name,
  file,
  kind: 'language',
  loads: [],
  steps: [],
  env: {},
  ...rest,
}));
