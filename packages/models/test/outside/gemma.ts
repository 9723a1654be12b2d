import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import {
  type Architecture,
  type Decoder,
  type DecoderConfig,
  decoderConfigFromGguf,
  decoderConfigFromHuggingFace,
  embedAndLogits,
  gegluFeedForward,
  type LoadedWeights,
  llamaWeights,
  noWindows,
  rootMeanSquareNorm,
  selfAttention,
  type WeightEntry,
  type WeightTable,
} from '@quern/models';

const { outputNorm, ...ends } = llamaWeights.model;
const { attnNorm, ffnNorm, ...matrices } = llamaWeights.layer;
const shifted = <E extends WeightEntry>(norm: E) => ({ ...norm, huggingFacePlus: 1 }); // multiplies by 1 + w

export const gemmaWeights = {
  model: { ...ends, outputNorm: shifted(outputNorm) },
  layer: { ...matrices, attnNorm: shifted(attnNorm), ffnNorm: shifted(ffnNorm) },
} as const satisfies WeightTable;

/** Gemma 1 (Gemma Team 2024): Llama with geglu, embedding rows times √D, and norms that multiply by 1 + w. */
export const gemma = {
  name: 'gemma',
  names: { gguf: ['gemma'], huggingFace: ['GemmaForCausalLM', 'gemma'] },
  weights: gemmaWeights,
  gguf: { name: 'gemma', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults({ head_dim: 256, max_position_embeddings: 8192 }); // defaults of GemmaConfig
    const activations = ['gelu_pytorch_tanh', 'gelu']; // transformers' Gemma: tanh form for both
    return decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows, { activations });
  },
  build: gemmaDecoder,
} satisfies Architecture;

function gemmaDecoder(b: Backend, w: LoadedWeights<typeof gemmaWeights>, config: DecoderConfig): Decoder {
  const { embed, logits } = embedAndLogits(b, w, config);
  const attention = selfAttention(b, config);
  const feedForward = gegluFeedForward(b);
  const norm = rootMeanSquareNorm(b, config);

  return {
    embed: (ids: Tensor) => b.scale(embed(ids), Math.sqrt(config.width)), // [T, D]

    layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor {
      const layer = w.layers[i]!;
      const h = b.add(x, attention(norm(x, layer.attnNorm), layer, i, batch, cache)); // [T, D]
      return b.add(h, feedForward(norm(h, layer.ffnNorm), layer)); // [T, D]
    },

    logits,
  };
}
