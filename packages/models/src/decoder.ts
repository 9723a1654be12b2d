import type { AttentionBatch, KvCache, Tensor } from '@quern/core';

/**
 * A decoder-only transformer, as an architecture builds it from loaded weights: one layer, and what comes before the first
 * and after the last. Whoever runs it loops over the layers: all of them, or a range on each of several backends.
 */
export interface Decoder {
  /** ids [T] → the residual stream before the first layer [T, D]. */
  embed(ids: Tensor): Tensor;
  /** The residual stream [T, D] → the same after layer i. Appends the rows' keys and values to layer i of the cache. */
  layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor;
  /** Any rows of the residual stream after the last layer [R, D] → logits [R, V]. */
  logits(x: Tensor): Tensor;
}
