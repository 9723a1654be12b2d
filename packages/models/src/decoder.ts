import type { AttentionBatch, KvCache, Tensor } from '@quern/core';

/** The two halves of a decoder-only transformer, as an architecture builds them from loaded weights. */
export interface Decoder {
  /** ids [T] → the residual stream after the last layer [T, D]. Appends the rows' keys and values to the cache. */
  hidden(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor;
  /** Any rows of the residual stream [R, D] → logits [R, V]. */
  logits(x: Tensor): Tensor;
}
