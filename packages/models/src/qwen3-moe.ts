import type { Architecture } from './architecture.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { mixtureFromGguf, qwen3MoeMixture } from './config/mixture.js';
import { qwen3MoeWindows } from './config/windows.js';
import { mixtureDecoder } from './mixtral.js';
import { denseFeedForward, mixtureEntries, splitExperts } from './mixture-weights.js';
import { qwen3Weights } from './qwen3.js';
import type { WeightTable } from './weights/weight-table.js';

const experts = ['model.layers.{i}.mlp', { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' }] as const;

/** Qwen3's parameters, with a router and experts in place of the feed-forward, in all layers or in some. */
export const qwen3MoeWeights = {
  model: qwen3Weights.model,
  layer: {
    ...qwen3Weights.layer,
    ...denseFeedForward,
    ...mixtureEntries(...experts),
  },
} as const satisfies WeightTable;

/** Qwen3 with experts (Qwen Team 2025). */
export const qwen3Moe = {
  name: 'qwen3moe',
  names: { gguf: ['qwen3moe'], huggingFace: ['Qwen3MoeForCausalLM', 'qwen3_moe'] },
  weights: qwen3MoeWeights,
  rename: splitExperts(...experts),
  gguf: { name: 'qwen3moe', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves', { mixture: mixtureFromGguf }),
  configFromHuggingFace: (source) =>
    decoderConfigFromHuggingFace(source, qwen3MoeWindows, { mixture: qwen3MoeMixture }),
  build: mixtureDecoder, // norms heads with layer.qNorm and layer.kNorm
} satisfies Architecture;
