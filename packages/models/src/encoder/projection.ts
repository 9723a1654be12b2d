import type { Backend, Tensor, Weight } from '@quern/core';

/** x [T, K] · w [N, K]ᵀ + bias [N] → [T, N], with the same bits for a text alone and among others: embeddings are compared. */
export const projection =
  (b: Backend) =>
  (x: Tensor, w: Weight, bias?: Weight): Tensor =>
    b.linear(x, w, { bias, batchInvariant: true });
