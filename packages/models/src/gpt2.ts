import type { AttentionBatch, Backend, Tensor } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { geluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, limits } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { fusedQkv, fusedQkvBiases, geluDiffers, renamedEnds, renamedEntry } from './gpt-weights.js';
import { layerNormEnds, layerNormEntries } from './layer-norm-weights.js';
import { llamaWeights } from './llama-weights.js';
import { mapTensors } from './weights/map-tensors.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const inLayer = (name: string) => `transformer.h.{i}.${name}`;
const attnNorm = layerNormEntries('blk.{i}.attn_norm', inLayer('ln_1'));
const ffnNorm = layerNormEntries('blk.{i}.ffn_norm', inLayer('ln_2'));
const { attnOutput, attnOutputBias, up, upBias, down, downBias } = llamaWeights.layer;
const transposed = { huggingFaceTransposed: true } as const;

/** Two LayerNorms per layer, biases everywhere, and a table of positions. Hugging Face's matrices are transposed. */
export const gpt2Weights = {
  model: {
    ...layerNormEnds('transformer.ln_f'),
    ...renamedEnds('transformer.wte.weight'),
    positions: {
      gguf: 'position_embd.weight',
      huggingFace: 'transformer.wpe.weight',
      shape: (c) => [c.positionRows ?? c.context, c.width],
      readBy: () => ['embed'],
      uses: () => ['embed'],
    },
  },
  layer: {
    ...{ attnNorm: attnNorm.weight, attnNormBias: attnNorm.bias },
    ...{ ffnNorm: ffnNorm.weight, ffnNormBias: ffnNorm.bias },
    ...fusedQkv(inLayer('attn.c_attn.weight'), transposed),
    ...fusedQkvBiases(inLayer('attn.c_attn.bias')),
    attnOutput: renamedEntry(attnOutput, inLayer('attn.c_proj.weight'), transposed),
    attnOutputBias: renamedEntry(attnOutputBias, inLayer('attn.c_proj.bias')),
    up: renamedEntry(up, inLayer('mlp.c_fc.weight'), transposed),
    upBias: renamedEntry(upBias, inLayer('mlp.c_fc.bias')),
    down: renamedEntry(down, inLayer('mlp.c_proj.weight'), transposed),
    downBias: renamedEntry(downBias, inLayer('mlp.c_proj.bias')),
  },
} as const satisfies WeightTable;

/** GPT-2 (Radford et al. 2019): learned positions, no rotation. */
export const gpt2 = {
  name: 'gpt2',
  names: { gguf: ['gpt2'], huggingFace: ['GPT2LMHeadModel', 'gpt2'] },
  weights: gpt2Weights,
  rename: (file) =>
    mapTensors(file, (tensor) =>
      isBuffer.test(tensor.name) ? [] : [{ ...tensor, name: inTransformer(tensor.name) }],
    ),
  gguf: { name: 'gpt2', rope: 'halves', layerNorm: true, llamaCppDiffers: geluDiffers },
  configFromGguf: (source) => withPositions(decoderConfigFromGguf(source, 'halves', { layerNorm: true })),
  configFromHuggingFace: ({ settings, ...source }) =>
    withPositions(
      decoderConfigFromHuggingFace({ ...source, settings: usualKeys(settings) }, noWindows, {
        epsilon: ['layer_norm_epsilon', 1e-5],
        gelu: ['activation_function', 'gelu_new'],
      }),
    ),
  build: gpt2Decoder,
} satisfies Architecture;

/** Masks of causal attention in older files. */
const isBuffer = /\.attn\.(masked_)?bias$/;

/** OpenAI's own folder lacks the prefix of transformers' class. */
const inTransformer = (name: string): string =>
  /^(transformer|lm_head)\./.test(name) ? name : `transformer.${name}`;

const withPositions = (config: DecoderConfig): DecoderConfig => ({
  ...config,
  positionRows: config.context,
  unrotated: Array.from({ length: config.layers }, () => true),
});

/** GPT2Config's names → the usual ones. */
function usualKeys(settings: Settings): Settings {
  if (settings.flag('scale_attn_weights') === false)
    settings.refuse('scale_attn_weights', 'scores are divided by √d');
  if (settings.flag('scale_attn_by_inverse_layer_idx'))
    settings.refuse('scale_attn_by_inverse_layer_idx', 'scores have the same factor in every layer');
  const width = settings.whole('n_embd', limits.width);
  return settings.withDefaults({ tie_word_embeddings: true }).replacing({
    hidden_size: width,
    num_hidden_layers: settings.whole('n_layer', limits.layers),
    num_attention_heads: settings.whole('n_head', limits.heads),
    intermediate_size: settings.whole('n_inner', limits.feedForward, 4 * width),
    max_position_embeddings: settings.whole('n_positions', limits.context, 1024),
  });
}

function gpt2Decoder(b: Backend, w: LoadedWeights<typeof gpt2Weights>, config: DecoderConfig): Decoder {
  const ends = embedAndLogits(b, w, config);
  const feedForward = geluFeedForward(b, config.gelu ?? 'tanh');
  const blocks = { attention: selfAttention(b, config), feedForward };
  return {
    ...ends,
    embed: (ids: Tensor, { positions }: AttentionBatch) =>
      b.add(ends.embed(ids), b.embed(w.positions, positions)), // [T, D]
    layer: preNormLayer(b, w, config, blocks),
  };
}
