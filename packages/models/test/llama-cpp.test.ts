// llama.cpp's log-probabilities for the same tiny files. How they were made, once:
//   QUERN_KEEP_MODELS=/tmp/tiny npm test -- llama-cpp           # in packages/models: writes the files
//   node tools/bench/llama-cpp-goldens.mjs /tmp/tiny            # with node-llama-cpp: writes goldens/llama-cpp.json
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import { f16ToF32, f32ToF16 } from '@quern/core';
import { loadLanguageModel, openModelFile, toGguf } from '@quern/models';
import { quantizeSource } from '@quern/quant';
import { syntheticVocabulary } from '../src/synthetic/vocabulary.js';
import { geluTanh } from './plain/decoder.js';
import { plainGemma } from './plain/gemma.js';
import { type Parameters, randomParameters, writeFolder } from './random-folder.js';
import { cacheFor, sequenceLogits } from './run-model.js';
import {
  gemma2Config,
  gemma2Parameters,
  gemma2Sizes,
  gemma3Config,
  gemma3Parameters,
  gemma3Sizes,
} from './tiny-gemma.js';
import { phi3MiniConfig, phi3MiniParameters, phiConfig, phiParameters } from './tiny-phi.js';

interface Goldens {
  readonly by: string;
  readonly ids: readonly number[];
  /** By file and context: the most likely tokens after each position, with log-probabilities (natural logarithm). */
  readonly likeliest: Readonly<Record<string, readonly (readonly (readonly [number, number])[])[]>>;
}

/** llama.cpp's factor on q·k: 1/√d. Its gelu is a table of f16, which changes logits (test below). */
const gemma = { query_pre_attn_scalar: 8 };
const ofGemma = { contexts: [256], tolerance: 5e-3 };
/** llama.cpp does not apply Phi-3's windows. */
const phi = { sliding_window: null, original_max_position_embeddings: 512, max_position_embeddings: 2048 };
const ofPhi = { contexts: [256], tolerance: 5e-5 };
const files = [
  { name: 'gemma2', config: { ...gemma2Config, ...gemma }, parameters: gemma2Parameters, ...ofGemma },
  { name: 'gemma3', config: { ...gemma3Config, ...gemma }, parameters: gemma3Parameters, ...ofGemma },
  {
    name: 'phi-4-mini',
    config: { ...phiConfig, ...phi },
    parameters: phiParameters,
    ...ofPhi,
    contexts: [256, 1024],
  },
  { name: 'phi-untied', config: { ...phi3MiniConfig, ...phi }, parameters: phi3MiniParameters, ...ofPhi },
];

/** llama.cpp does not open a file without vocabulary. */
const vocabulary = new Map(Object.entries(syntheticVocabulary(260, 'qwen2')));

/** Embedding and output with a row per token of the vocabulary. */
const widened = (parameters: Parameters): Parameters =>
  new Map([
    ...parameters,
    ...randomParameters(
      Object.fromEntries(
        [...parameters]
          .filter(([name]) => name === 'model.embed_tokens.weight' || name === 'lm_head.weight')
          .map(([name, { shape }]) => [name, [260, shape[1]!]]),
      ),
      0.3,
    ),
  ]);

async function write({ name, config, parameters }: (typeof files)[number]): Promise<string> {
  const folder = writeFolder(`llama-cpp-${name}`, { ...config, vocab_size: 260 }, widened(parameters));
  const file = await openModelFile(folder);
  if (file.kind !== 'huggingFace') throw new Error(`${folder} opened as GGUF`);
  const path = `${folder}.gguf`;
  await quantizeSource(await toGguf(file, { vocabulary }), path, { mix: 'f32' });
  const kept = process.env.QUERN_KEEP_MODELS;
  if (kept) {
    mkdirSync(kept, { recursive: true });
    copyFileSync(path, join(kept, `${name}.gguf`));
  }
  return path;
}

const logSoftmax = (logits: readonly number[]) => {
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  return logits.map((logit) => logit - Math.log(total));
};

/** The largest difference between log-probabilities; NaN if a position is missing. */
const furthest = (logits: readonly (readonly number[])[], expected: Goldens['likeliest'][string]) =>
  Math.max(
    ...logits
      .map(logSoftmax)
      .flatMap((row, position) =>
        (expected[position] ?? [[0, Number.NaN]]).map(([id, value]) => Math.abs(row[id]! - value)),
      ),
  );

const goldens: Goldens = JSON.parse(
  readFileSync(join(import.meta.dirname, 'goldens/llama-cpp.json'), 'utf8'),
);

test.each(files)('$name: llama.cpp’s log-probabilities', async (file) => {
  using backend = await createBackend();
  using model = await loadLanguageModel(await openModelFile(await write(file)), backend);
  for (const context of file.contexts) {
    const logits = await sequenceLogits(model, goldens.ids, goldens.ids.length, cacheFor(model, context));
    const expected = goldens.likeliest[`${file.name} ${context}`]!;
    expect(furthest(logits, expected)).toBeLessThan(file.tolerance);
  }
});

const f16 = (x: number) => f16ToF32(f32ToF16(x));

test.each([
  { name: 'gemma2', parameters: gemma2Parameters, sizes: gemma2Sizes },
  { name: 'gemma3', parameters: gemma3Parameters, sizes: gemma3Sizes },
])('$name in plain numbers with gelu rounded to f16: llama.cpp’s to 1e-4', ({ name, parameters, sizes }) => {
  const rounded = { ...sizes, queryScalar: 8, gelu: (x: number) => f16(geluTanh(f16(x))) };
  const logits = plainGemma(widened(parameters), goldens.ids, rounded);
  expect(furthest(logits, goldens.likeliest[`${name} 256`]!)).toBeLessThan(1e-4);
});
