import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { geluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { renamedEntry } from './gpt-weights.js';
import { layerNormEnds, layerNormEntries } from './layer-norm-weights.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights, WeightEntry, WeightTable } from './weights/weight-table.js';

/** q, k or v (0, 1, 2): older GGUF files hold them as one tensor. */
const inQkv = (entry: WeightEntry, part: 0 | 1 | 2) => {
  const first = ({ heads, kvHeads }: DecoderConfig) => [0, heads, heads + kvHeads][part]!;
  return {
    ...{ gguf: entry.gguf, huggingFace: entry.huggingFace, shape: entry.shape },
    ggufFused: {
      name: entry.gguf.replace(/attn_[qkv]\./, 'attn_qkv.'),
      rows: (c: DecoderConfig) => ({ from: first(c) * c.headDim, of: (c.heads + 2 * c.kvHeads) * c.headDim }),
    },
  } as const satisfies WeightEntry;
};

const inLayer = (name: string) => `model.layers.{i}.${name}`;

const { q, k, v, qBias, kBias, vBias, attnOutput, attnOutputBias, up, upBias, down, downBias } =
  llamaWeights.layer;
const norm = layerNormEntries('blk.{i}.attn_norm', inLayer('input_layernorm'));
const ends = layerNormEnds('model.final_layernorm');

/** One LayerNorm per layer, a feed-forward of two matrices, biases everywhere. */
export const phi2Weights = {
  model: {
    ...ends,
    outputBias: {
      ...{ gguf: 'output.bias', huggingFace: 'lm_head.bias', shape: (c) => [c.vocabulary] },
      readBy: () => ['logits'],
    },
  },
  layer: {
    ...{ attnNorm: norm.weight, attnNormBias: norm.bias },
    ...{ q: inQkv(q, 0), k: inQkv(k, 1), v: inQkv(v, 2) },
    ...{ qBias: inQkv(qBias, 0), kBias: inQkv(kBias, 1), vBias: inQkv(vBias, 2) },
    attnOutput: renamedEntry(attnOutput, inLayer('self_attn.dense.weight')),
    attnOutputBias: renamedEntry(attnOutputBias, inLayer('self_attn.dense.bias')),
    up: renamedEntry(up, inLayer('mlp.fc1.weight')),
    upBias: renamedEntry(upBias, inLayer('mlp.fc1.bias')),
    down: renamedEntry(down, inLayer('mlp.fc2.weight')),
    downBias: renamedEntry(downBias, inLayer('mlp.fc2.bias')),
  },
} as const satisfies WeightTable;

/** Phi-1, Phi-1.5 and Phi-2 (Li et al. 2023): attention and feed-forward side by side after one LayerNorm. */
export const phi2 = {
  name: 'phi2',
  names: { gguf: ['phi2'], huggingFace: ['PhiForCausalLM', 'phi'] },
  weights: phi2Weights,
  gguf: { name: 'phi2', rope: 'halves', layerNorm: true },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves', { layerNorm: true }),
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults({ partial_rotary_factor: 0.5 }); // of PhiConfig
    if (known.flag('qk_layernorm')) known.refuse('qk_layernorm', 'heads of q and k are not normed');
    return decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows, {
      partialRotary: true,
      epsilon: ['layer_norm_eps', 1e-5],
      activations: ['gelu_new', 'gelu_pytorch_tanh', 'gelu_fast'],
    });
  },
  build: phi2Decoder,
} satisfies Architecture;

function phi2Decoder(b: Backend, w: LoadedWeights<typeof phi2Weights>, config: DecoderConfig): Decoder {
  const blocks = { attention: selfAttention(b, config), feedForward: geluFeedForward(b, 'tanh') };
  return { ...embedAndLogits(b, w, config), layer: preNormLayer(b, w, config, blocks) };
}
