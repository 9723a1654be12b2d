import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Decoder } from '../decoder.js';
import { modelNorm } from './norm.js';

/** Norms of a layer: RMSNorms, or LayerNorms where they have biases. */
export interface LayerNorms {
  /** [D] */
  readonly attnNorm: Weight;
  readonly attnNormBias?: Weight | undefined;
  /** [D]; absent where attention and feed-forward read the same x. */
  readonly ffnNorm?: Weight | undefined;
  readonly ffnNormBias?: Weight | undefined;
}

/** What a layer computes between its norms: x [T, D], normed → [T, D]. */
export interface LayerBlocks<A, F> {
  attention(x: Tensor, layer: A, i: number, batch: AttentionBatch, cache: KvCache): Tensor;
  feedForward(x: Tensor, layer: F): Tensor;
}

/**
 * Layers of a pre-norm decoder: h = x + attention(norm(x)), then h + feedForward(norm(h)). Without a second norm, or
 * with `config.parallel`, the feed-forward reads what the attention reads (Wang & Komatsuzaki 2021, GPT-J).
 */
export function preNormLayer<A, F>(
  b: Backend,
  w: { readonly layers: readonly (LayerNorms & A & F)[] },
  config: DecoderConfig,
  { attention, feedForward }: LayerBlocks<A, F>,
): Decoder['layer'] {
  const norm = modelNorm(b, config);
  return (x, i, batch, cache) => {
    const layer = w.layers[i]!;
    const normed = norm(x, layer.attnNorm, layer.attnNormBias); // [T, D]
    const h = b.add(x, attention(normed, layer, i, batch, cache)); // [T, D]
    const read = layer.ffnNorm ? norm(config.parallel ? x : h, layer.ffnNorm, layer.ffnNormBias) : normed;
    return b.add(h, feedForward(read, layer)); // [T, D]
  };
}
