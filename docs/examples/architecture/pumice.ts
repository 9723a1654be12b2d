import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import {
  type Architecture,
  attendCache,
  type Decoder,
  type DecoderConfig,
  decoderConfigFromGguf,
  decoderConfigFromHuggingFace,
  embedAndLogits,
  type LoadedWeights,
  llamaWeights,
  noWindows,
  projectHeads,
  rootMeanSquareNorm,
  swigluFeedForward,
  type WeightTable,
} from '@quern/models';

const { attnNorm, ffnNorm, ...shared } = llamaWeights.layer; // Pumice norms a block's output, not its input

/** The weight of a norm with `size` elements, in every layer. */
const norm = (gguf: string, huggingFace: string, size: (c: DecoderConfig) => number) => ({
  gguf: `blk.{i}.${gguf}.weight`,
  huggingFace: `model.layers.{i}.${huggingFace}.weight`,
  shape: (c: DecoderConfig) => [size(c)],
});

/** Llama's parameters with other norms. */
export const pumiceWeights = {
  model: llamaWeights.model,
  layer: {
    ...shared,
    qNorm: norm('attn_q_norm', 'self_attn.q_norm', (c) => c.heads * c.headDim),
    kNorm: norm('attn_k_norm', 'self_attn.k_norm', (c) => c.kvHeads * c.headDim),
    attnOutputNorm: norm('post_attention_norm', 'post_attention_layernorm', (c) => c.width),
    ffnOutputNorm: norm('post_ffw_norm', 'post_feedforward_layernorm', (c) => c.width),
  },
} as const satisfies WeightTable;

/** Pumice, made up: Llama with norms on each block's output, and on q and k, as OLMo 2 has (OLMo Team 2024). */
export const pumice = {
  name: 'pumice',
  names: { gguf: ['pumice'], huggingFace: ['PumiceForCausalLM', 'pumice'] },
  weights: pumiceWeights,
  gguf: { name: 'pumice', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, noWindows),
  build: pumiceDecoder,
} satisfies Architecture;

function pumiceDecoder(b: Backend, w: LoadedWeights<typeof pumiceWeights>, config: DecoderConfig): Decoder {
  const project = projectHeads(b, config);
  const attend = attendCache(b, config);
  const feedForward = swigluFeedForward(b);
  const norm = rootMeanSquareNorm(b, config);
  /** Norms all heads of a row together: [T, H, d] → [T, H, d]. */
  const normHeads = (x: Tensor, weight: Weight): Tensor =>
    b.view(norm(b.view(x, [x.shape[0]!, x.shape[1]! * config.headDim]), weight), x.shape);

  return {
    ...embedAndLogits(b, w, config),

    layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor {
      const layer = w.layers[i]!;
      const { q, k, v } = project(x, layer); // [T, H, d], [T, Hk, d], [T, Hk, d]
      const heads = { q: normHeads(q, layer.qNorm), k: normHeads(k, layer.kNorm), v };
      const attended = attend(heads, layer, i, batch, cache); // [T, D]
      const h = b.add(x, norm(attended, layer.attnOutputNorm)); // [T, D]
      return b.add(h, norm(feedForward(h, layer), layer.ffnOutputNorm)); // [T, D]
    },
  };
}
