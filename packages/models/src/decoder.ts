import type { AttentionBatch, KvCache, Tensor } from '@quern/core';

/**
 * A decoder-only transformer, built by an architecture from loaded weights: embedding, one layer, logits. The caller
 * loops over the layers: all of them, or a range on each of several backends.
 */
export interface Decoder {
  /** ids [T] → the residual stream before the first layer [T, D]. Models with learned positions read `batch.positions`. */
  embed(ids: Tensor, batch: AttentionBatch): Tensor;
  /**
   * The residual stream [T, D] → the stream after layer i [T, D]. Appends the rows' keys and values to layer i of the
   * cache.
   */
  layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor;
  /** Any rows of the residual stream after the last layer [R, D] → hidden states [R, D], for embeddings. Absent: none. */
  norm?(x: Tensor): Tensor;
  /** Any rows of the residual stream after the last layer [R, D] → logits [R, V]. */
  logits(x: Tensor): Tensor;
}
