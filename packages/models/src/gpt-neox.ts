import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { geluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import {
  fusedQkv,
  fusedQkvBiases,
  geluDiffers,
  renamedEnds,
  renamedEntry,
  rowsByGroup,
} from './gpt-weights.js';
import { layerNormEnds, layerNormEntries } from './layer-norm-weights.js';
import { llamaWeights } from './llama-weights.js';
import { mapTensors } from './weights/map-tensors.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const inLayer = (name: string) => `gpt_neox.layers.{i}.${name}`;
const attnNorm = layerNormEntries('blk.{i}.attn_norm', inLayer('input_layernorm'));
const ffnNorm = layerNormEntries('blk.{i}.ffn_norm', inLayer('post_attention_layernorm'));
const { attnOutput, attnOutputBias, up, upBias, down, downBias } = llamaWeights.layer;
const optional = { optional: true } as const; // `attention_bias: false`

/** Two LayerNorms per layer, q, k and v in one tensor, a feed-forward of two matrices. */
export const gptNeoXWeights = {
  model: {
    ...layerNormEnds('gpt_neox.final_layer_norm'),
    ...renamedEnds('gpt_neox.embed_in.weight', 'embed_out.weight'),
  },
  layer: {
    ...{ attnNorm: attnNorm.weight, attnNormBias: attnNorm.bias },
    ...{ ffnNorm: ffnNorm.weight, ffnNormBias: ffnNorm.bias },
    ...fusedQkv(inLayer('attention.query_key_value.weight'), { huggingFaceRows: rowsByGroup }),
    ...fusedQkvBiases(inLayer('attention.query_key_value.bias'), {
      huggingFaceRows: rowsByGroup,
      ...optional,
    }),
    attnOutput: renamedEntry(attnOutput, inLayer('attention.dense.weight')),
    attnOutputBias: renamedEntry(attnOutputBias, inLayer('attention.dense.bias'), optional),
    up: renamedEntry(up, inLayer('mlp.dense_h_to_4h.weight')),
    upBias: renamedEntry(upBias, inLayer('mlp.dense_h_to_4h.bias')),
    down: renamedEntry(down, inLayer('mlp.dense_4h_to_h.weight')),
    downBias: renamedEntry(downBias, inLayer('mlp.dense_4h_to_h.bias')),
  },
} as const satisfies WeightTable;

/** GPT-NeoX and Pythia (Black et al. 2022; Biderman et al. 2023): attention and feed-forward side by side, a norm for each. */
export const gptNeoX = {
  name: 'gptneox',
  names: { gguf: ['gptneox'], huggingFace: ['GPTNeoXForCausalLM', 'gpt_neox'] },
  weights: gptNeoXWeights,
  rename: (file) => mapTensors(file, (tensor) => (isBuffer.test(tensor.name) ? [] : [tensor])),
  gguf: {
    name: 'gptneox',
    rope: 'halves',
    layerNorm: true,
    metadata: ({ parallel }) => ({ use_parallel_residual: parallel === true }),
    llamaCppDiffers: geluDiffers,
  },
  configFromGguf: (source) => ({
    ...decoderConfigFromGguf(source, 'halves', { layerNorm: true }),
    parallel: source.settings.flag('use_parallel_residual') ?? true,
  }),
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = withDefaults(settings);
    const config = decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows, {
      partialRotary: true,
      epsilon: ['layer_norm_eps', 1e-5],
      gelu: ['hidden_act', 'gelu'],
    });
    return { ...config, parallel: known.flag('use_parallel_residual') ?? true };
  },
  build: gptNeoXDecoder,
} satisfies Architecture;

/** Masks of causal attention in older files. */
const isBuffer = /\.attention\.(masked_)?bias$/;

/** Of transformers' GPTNeoXConfig, which has names of its own for the rotation. */
const withDefaults = (settings: Settings): Settings =>
  settings.withDefaults({ tie_word_embeddings: false }).replacing({
    partial_rotary_factor: settings.positive('rotary_pct', 0.25),
    rope_theta: settings.positive('rotary_emb_base', 10_000),
  });

function gptNeoXDecoder(b: Backend, w: LoadedWeights<typeof gptNeoXWeights>, config: DecoderConfig): Decoder {
  const feedForward = geluFeedForward(b, config.gelu ?? 'tanh');
  const blocks = { attention: selfAttention(b, config), feedForward };
  return { ...embedAndLogits(b, w, config), layer: preNormLayer(b, w, config, blocks) };
}
