import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { sparseLayer } from './blocks/sparse-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, limits } from './config/decoder-config.js';
import { decoderConfigFromGguf, type GgufSource } from './config/gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './config/hugging-face.js';
import { mixtralMixture, routedMixtureFromGguf } from './config/mixture.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import { mixtureEntries, selectionBias, splitExperts } from './mixture-weights.js';
import { olmo2Attention, olmo2Weights } from './olmo2.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const expertNames = ['model.layers.{i}.block_sparse_moe', { gate: 'w1', up: 'w3', down: 'w2' }] as const;
const { gate: _gate, up: _up, down: _down, ...attention } = llamaWeights.layer;
const { qNorm, kNorm } = olmo2Weights.layer;

/** Llama's attention with norms over all of q and of k; experts in every layer. */
export const miniMaxM2Weights = {
  model: llamaWeights.model,
  layer: {
    ...attention,
    qNorm,
    kNorm,
    ...mixtureEntries(...expertNames),
    selectionBias: selectionBias('model.layers.{i}.block_sparse_moe.e_score_correction_bias'),
  },
} as const satisfies WeightTable;

/** MiniMax-M2 (MiniMax 2025): heads rotate in part; a sigmoid router with a bias, in every layer. */
export const miniMaxM2 = {
  name: 'minimax-m2',
  names: { gguf: ['minimax-m2'], huggingFace: ['MiniMaxM2ForCausalLM', 'minimax_m2'] },
  weights: miniMaxM2Weights,
  rename: splitExperts(...expertNames),
  gguf: { name: 'minimax-m2', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves', { mixture: mixtureOfGguf }),
  configFromHuggingFace,
  build: miniMaxM2Decoder,
} satisfies Architecture;

/** As llama.cpp: the experts have the width of `feed_forward_length`, and their weights sum to 1. */
const mixtureOfGguf = (source: GgufSource, layers: number) => ({
  ...routedMixtureFromGguf(source, layers),
  renormalise: true,
  feedForward: source.settings.whole('feed_forward_length', limits.feedForward),
});

const mixture = (settings: Settings, layers: number) => ({
  ...mixtralMixture(settings, layers),
  score: 'sigmoid' as const,
});

/** Of transformers' MiniMaxM2Config. */
const defaults = {
  ...{
    num_key_value_heads: 8,
    head_dim: 128,
    num_local_experts: 256,
    num_experts_per_tok: 8,
    rope_theta: 5e6,
  },
  max_position_embeddings: 196_608,
};

/** Files before transformers 5 have `rotary_dim`. */
function configFromHuggingFace({ settings, ...source }: HuggingFaceSource): DecoderConfig {
  const known = settings.withDefaults(defaults);
  const headDim = known.whole('head_dim', limits.headDim);
  const part = known.whole('rotary_dim', headDim, headDim) / headDim;
  const placed = known.withDefaults({ partial_rotary_factor: part });
  return decoderConfigFromHuggingFace({ ...source, settings: placed }, noWindows, {
    partialRotary: true,
    mixture,
  });
}

function miniMaxM2Decoder(
  b: Backend,
  w: LoadedWeights<typeof miniMaxM2Weights>,
  config: DecoderConfig,
): Decoder {
  return { ...embedAndLogits(b, w, config), layer: sparseLayer(b, w, config, olmo2Attention(b, config)) };
}
