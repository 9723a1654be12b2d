import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { Architecture } from './architecture.js';
import { type AttentionWeights, attendCache, projectHeads } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { rootMeanSquareNorm } from './blocks/norm.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { qwenWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights, WeightEntry } from './weights/weight-table.js';

/** Llama's parameters, and norms for the heads of q and k. */
export const qwen3Weights: {
  readonly model: typeof llamaWeights.model;
  readonly layer: typeof llamaWeights.layer & Readonly<Record<'qNorm' | 'kNorm', WeightEntry>>;
} = {
  model: llamaWeights.model,
  layer: {
    ...llamaWeights.layer,
    qNorm: {
      gguf: 'blk.{i}.attn_q_norm.weight',
      huggingFace: 'model.layers.{i}.self_attn.q_norm.weight',
      shape: (c) => [c.headDim],
    },
    kNorm: {
      gguf: 'blk.{i}.attn_k_norm.weight',
      huggingFace: 'model.layers.{i}.self_attn.k_norm.weight',
      shape: (c) => [c.headDim],
    },
  },
};

/** Attention weights with head norms. */
export interface Qwen3AttentionWeights extends AttentionWeights {
  /** [d], the same for every head of q. */
  readonly qNorm: Weight;
  /** [d], the same for every head of k. */
  readonly kNorm: Weight;
}

/** Qwen3, dense models (Qwen Team 2025): heads of q and k are normed before the rotation. */
export const qwen3: Architecture = {
  name: 'qwen3',
  names: { gguf: ['qwen3'], huggingFace: ['Qwen3ForCausalLM', 'qwen3'] },
  weights: qwen3Weights,
  gguf: { name: 'qwen3', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, qwenWindows),
  build: qwen3Decoder,
};

/** Qwen3's attention: RMSNorm of every head of q and k before the rotation. x [T, D], normed → [T, D]. */
export function qwen3Attention(b: Backend, config: DecoderConfig) {
  const project = projectHeads(b, config);
  const attend = attendCache(b, config);
  const norm = rootMeanSquareNorm(b, config);

  return (x: Tensor, w: Qwen3AttentionWeights, i: number, batch: AttentionBatch, cache: KvCache): Tensor => {
    const { q, k, v } = project(x, w); // [T, H, d], [T, Hk, d], [T, Hk, d]
    return attend({ q: norm(q, w.qNorm), k: norm(k, w.kNorm), v }, w, i, batch, cache);
  };
}

function qwen3Decoder(b: Backend, w: LoadedWeights<typeof qwen3Weights>, config: DecoderConfig): Decoder {
  const blocks = { attention: qwen3Attention(b, config), feedForward: swigluFeedForward(b) };
  return { ...embedAndLogits(b, w, config), layer: preNormLayer(b, w, config, blocks) };
}
