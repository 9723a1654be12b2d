import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { type FeedForwardWeights, swigluFeedForward } from './blocks/feed-forward.js';
import { type MixtureWeights, mixtureFeedForward } from './blocks/mixture.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { mixtralMixture, mixtureFromGguf } from './config/mixture.js';
import { mixtralWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import { denseFeedForward, mixtureEntries, splitExperts } from './mixture-weights.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const experts = ['model.layers.{i}.block_sparse_moe', { gate: 'w1', up: 'w3', down: 'w2' }] as const;

/** Llama's parameters, with a router and experts in place of the feed-forward. */
export const mixtralWeights = {
  model: llamaWeights.model,
  layer: {
    ...llamaWeights.layer,
    ...denseFeedForward,
    ...mixtureEntries(...experts),
  },
} as const satisfies WeightTable;

/** Mixtral (Jiang et al. 2024): Mistral with experts. Its GGUF files call themselves llama. */
export const mixtral = {
  name: 'mixtral',
  names: { gguf: [], huggingFace: ['MixtralForCausalLM', 'mixtral'] },
  weights: mixtralWeights,
  rename: splitExperts(...experts),
  gguf: { name: 'llama', rope: 'interleaved' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'interleaved', { mixture: mixtureFromGguf }),
  configFromHuggingFace: (source) =>
    decoderConfigFromHuggingFace(source, mixtralWindows, { mixture: mixtralMixture }),
  build: mixtureDecoder,
} satisfies Architecture;

/** The forward pass of a decoder whose feed-forwards are mixtures of experts, in all layers or in some. */
export function mixtureDecoder(
  b: Backend,
  w: LoadedWeights<typeof mixtralWeights>,
  config: DecoderConfig,
): Decoder {
  const attention = selfAttention(b, config);
  const dense = swigluFeedForward(b);
  const mixture = mixtureFeedForward(b, config.mixture!);
  const norm = (x: Tensor, weight: Weight) => b.rmsNorm(x, weight, { eps: config.rmsEps });

  return {
    hidden(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor {
      let x = b.embed(w.embedding, ids); // [T, D]
      for (const [i, layer] of w.layers.entries()) {
        x = b.add(x, attention(norm(x, layer.attnNorm), layer, batch, cache, i)); // [T, D]
        const normed = norm(x, layer.ffnNorm); // [T, D]
        x = config.mixture!.sparse[i]
          ? mixture(normed, x, layer as MixtureWeights)
          : b.add(x, dense(normed, layer as FeedForwardWeights)); // [T, D]
      }
      return x;
    },

    logits: (x: Tensor): Tensor => b.linear(norm(x, w.outputNorm), w.output ?? w.embedding), // [R, V]
  };
}
