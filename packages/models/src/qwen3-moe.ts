import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { sparseLayer } from './blocks/sparse-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { mixtureFromGguf, qwen3MoeMixture } from './config/mixture.js';
import { qwen3MoeWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { denseFeedForward, mixtureEntries, splitExperts } from './mixture-weights.js';
import { qwen3Attention, qwen3Weights } from './qwen3.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const expertNames = [
  'model.layers.{i}.mlp',
  { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
] as const;

/** Qwen3's parameters; router and experts replace the feed-forward, in all or some layers. */
export const qwen3MoeWeights = {
  model: qwen3Weights.model,
  layer: {
    ...qwen3Weights.layer,
    ...denseFeedForward,
    ...mixtureEntries(...expertNames),
  },
} as const satisfies WeightTable;

/** Qwen3 with experts (Qwen Team 2025). */
export const qwen3Moe: Architecture = {
  name: 'qwen3moe',
  names: { gguf: ['qwen3moe'], huggingFace: ['Qwen3MoeForCausalLM', 'qwen3_moe'] },
  weights: qwen3MoeWeights,
  rename: splitExperts(...expertNames),
  gguf: { name: 'qwen3moe', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves', { mixture: mixtureFromGguf }),
  configFromHuggingFace: (source) =>
    decoderConfigFromHuggingFace(source, qwen3MoeWindows, { mixture: qwen3MoeMixture }),
  build: qwen3MoeDecoder,
};

/** Qwen3-MoE's decoder: Qwen3's attention and fine-grained experts, without a shared expert. */
function qwen3MoeDecoder(
  b: Backend,
  w: LoadedWeights<typeof qwen3MoeWeights>,
  config: DecoderConfig,
): Decoder {
  return { ...embedAndLogits(b, w, config), layer: sparseLayer(b, w, config, qwen3Attention(b, config)) };
}
