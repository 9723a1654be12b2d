import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { qwenWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

/** Llama's parameters, and a norm for the heads of q and of k. */
export const qwen3Weights = {
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
} as const satisfies WeightTable;

/** Qwen3, the dense models (Qwen Team 2025): every head of q and k is normed before it rotates. */
export const qwen3 = {
  name: 'qwen3',
  names: { gguf: ['qwen3'], huggingFace: ['Qwen3ForCausalLM', 'qwen3'] },
  weights: qwen3Weights,
  gguf: { name: 'qwen3', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, qwenWindows),
  build: qwen3Decoder,
} satisfies Architecture;

function qwen3Decoder(b: Backend, w: LoadedWeights<typeof qwen3Weights>, config: DecoderConfig): Decoder {
  const attention = selfAttention(b, config); // norms heads with layer.qNorm and layer.kNorm
  const feedForward = swigluFeedForward(b);
  const norm = (x: Tensor, weight: Weight) => b.rmsNorm(x, weight, { eps: config.rmsEps });

  return {
    hidden(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor {
      let x = b.embed(w.embedding, ids); // [T, D]
      for (const [i, layer] of w.layers.entries()) {
        x = b.add(x, attention(norm(x, layer.attnNorm), layer, batch, cache, i)); // [T, D]
        x = b.add(x, feedForward(norm(x, layer.ffnNorm), layer)); // [T, D]
      }
      return x;
    },

    logits: (x: Tensor): Tensor => b.linear(norm(x, w.outputNorm), w.output ?? w.embedding), // [R, V]
  };
}
