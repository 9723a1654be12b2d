import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf, hasExperts } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import { mixtral } from './mixtral.js';
import type { LoadedWeights } from './weights/weight-table.js';

/** Llama 2 and 3.x (Touvron et al. 2023): GGUF stores q and k so that neighbouring elements rotate together. */
export const llama = {
  name: 'llama',
  names: { gguf: ['llama'], huggingFace: ['LlamaForCausalLM', 'llama'] },
  ggufVariant: (settings) => (hasExperts(settings) ? mixtral : undefined),
  weights: llamaWeights,
  gguf: { name: 'llama', rope: 'interleaved' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'interleaved'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, noWindows),
  build: llamaDecoder,
} satisfies Architecture;

/** The forward pass of Llama: pre-norm attention with rotary positions, and a gated feed-forward, in each layer. */
export function llamaDecoder(
  b: Backend,
  w: LoadedWeights<typeof llamaWeights>,
  config: DecoderConfig,
): Decoder {
  const attention = selfAttention(b, config);
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
