import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import {
  type Architecture,
  type Decoder,
  type DecoderConfig,
  decoderConfigFromGguf,
  decoderConfigFromHuggingFace,
  type LoadedWeights,
  noWindows,
  registerArchitecture,
  swigluFeedForward,
} from '@quern/models';
import { olmo2Attention } from './olmo2-attention.js';
import { olmo2Weights } from './olmo2-weights.js';

/** OLMo 2 (OLMo Team 2024, 2 OLMo 2 Furious): Llama with norms on each block's output, and on q and k. */
export const olmo2 = {
  name: 'olmo2',
  names: { gguf: ['olmo2'], huggingFace: ['Olmo2ForCausalLM', 'olmo2'] },
  weights: olmo2Weights,
  gguf: { name: 'olmo2', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, noWindows),
  build: olmo2Decoder,
} satisfies Architecture;

registerArchitecture(olmo2);

function olmo2Decoder(b: Backend, w: LoadedWeights<typeof olmo2Weights>, config: DecoderConfig): Decoder {
  const attention = olmo2Attention(b, config);
  const feedForward = swigluFeedForward(b);
  const norm = (x: Tensor, weight: Weight) => b.rmsNorm(x, weight, { eps: config.rmsEps });

  return {
    embed: (ids: Tensor): Tensor => b.embed(w.embedding, ids), // [T, D]

    layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor {
      const layer = w.layers[i]!;
      const h = b.add(x, norm(attention(x, layer, i, batch, cache), layer.attnOutputNorm)); // [T, D]
      return b.add(h, norm(feedForward(h, layer), layer.ffnOutputNorm)); // [T, D]
    },

    logits: (x: Tensor): Tensor => b.linear(norm(x, w.outputNorm), w.output ?? w.embedding), // [R, V]
  };
}
