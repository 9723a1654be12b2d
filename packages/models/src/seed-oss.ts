import type { Architecture } from './architecture.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { noWindows } from './config/windows.js';
import { llamaDecoder } from './llama.js';
import { llamaWeights } from './llama-weights.js';
import type { WeightTable } from './weights/weight-table.js';

const { layer } = llamaWeights;

/** Llama's parameters; GGUF files name the second norm as Hugging Face's do. */
export const seedOssWeights = {
  model: llamaWeights.model,
  layer: { ...layer, ffnNorm: { ...layer.ffnNorm, gguf: 'blk.{i}.post_attention_norm.weight' } },
} as const satisfies WeightTable;

/** Seed-OSS (ByteDance 2025): Llama with biases on q, k and v, and heads whose size is apart from the width. */
export const seedOss = {
  name: 'seed_oss',
  names: { gguf: ['seed_oss'], huggingFace: ['SeedOssForCausalLM', 'seed_oss'] },
  weights: seedOssWeights,
  gguf: { name: 'seed_oss', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults(defaults);
    return decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows);
  },
  build: llamaDecoder,
} satisfies Architecture;

/** Of transformers' SeedOssConfig. */
const defaults = { num_key_value_heads: 8, head_dim: 128, max_position_embeddings: 524_288 };
