import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { sparseLayer } from './blocks/sparse-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, limits } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './config/hugging-face.js';
import { deepSeekMixture, routedMixtureFromGguf } from './config/mixture.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import {
  denseFeedForward,
  mixtureEntries,
  selectionBias,
  sharedEntries,
  splitExperts,
} from './mixture-weights.js';
import { type Qwen3AttentionWeights, qwen3Attention, qwen3Weights } from './qwen3.js';
import { seedOssWeights } from './seed-oss.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const expertNames = [
  'model.layers.{i}.mlp',
  { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
] as const;
const { qNorm, kNorm } = qwen3Weights.layer;

/** Seed-OSS's parameters, norms for the heads of q and k in large models; experts in most layers. */
export const glm4MoeWeights = {
  model: seedOssWeights.model,
  layer: {
    ...seedOssWeights.layer,
    qNorm: { ...qNorm, optional: true },
    kNorm: { ...kNorm, optional: true },
    ...denseFeedForward,
    ...mixtureEntries(...expertNames),
    selectionBias: selectionBias('model.layers.{i}.mlp.gate.e_score_correction_bias'),
    ...sharedEntries('model.layers.{i}.mlp.shared_experts'),
  },
} as const satisfies WeightTable;

/**
 * GLM-4.5, 4.6 and their Air (Zhipu AI 2025): DeepSeek-V3's experts under grouped-query attention, whose heads rotate in
 * part. The layer that predicts a further token is not read.
 */
export const glm4Moe = {
  name: 'glm4moe',
  names: { gguf: ['glm4moe'], huggingFace: ['Glm4MoeForCausalLM', 'glm4_moe'] },
  weights: glm4MoeWeights,
  rename: splitExperts(...expertNames),
  gguf: {
    name: 'glm4moe',
    rope: 'halves',
    routed: true,
    metadata: () => ({ nextn_predict_layers: 0 }),
  },
  configFromGguf: ({ settings, ...source }) => {
    const known = settings.withDefaults({ expert_gating_func: 2 }); // of llama.cpp
    return decoderConfigFromGguf({ ...source, settings: known }, 'halves', {
      nextN: true,
      mixture: routedMixtureFromGguf,
    });
  },
  configFromHuggingFace,
  build: glm4MoeDecoder,
} satisfies Architecture;

/** Of transformers' Glm4MoeConfig. */
const defaults = {
  ...{ num_key_value_heads: 8, partial_rotary_factor: 0.5, rms_norm_eps: 1e-5, n_routed_experts: 128 },
  ...{ num_experts_per_tok: 8, moe_intermediate_size: 1408, n_shared_experts: 1, first_k_dense_replace: 1 },
  max_position_embeddings: 131_072,
};

function configFromHuggingFace({ settings, ...source }: HuggingFaceSource): DecoderConfig {
  const known = settings.withDefaults(defaults);
  const rules = { partialRotary: true, mixture: deepSeekMixture } as const;
  const config = decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows, rules);
  const nextN = known.whole('num_nextn_predict_layers', limits.layers, 0, 0);
  return nextN > 0 ? { ...config, nextN } : config;
}

function glm4MoeDecoder(b: Backend, w: LoadedWeights<typeof glm4MoeWeights>, config: DecoderConfig): Decoder {
  type Layer = (typeof w.layers)[number];
  const [plain, normed] = [selfAttention(b, config), qwen3Attention(b, config)];
  const attention = (x: Tensor, layer: Layer, i: number, batch: AttentionBatch, cache: KvCache): Tensor =>
    layer.qNorm
      ? normed(x, layer as Layer & Qwen3AttentionWeights, i, batch, cache)
      : plain(x, layer, i, batch, cache);
  return { ...embedAndLogits(b, w, config), layer: sparseLayer(b, w, config, attention) };
}
