import type { Backend, Tensor, Weight } from '@quern/core';

/** x [T, K] · w [N, K]ᵀ + bias [N] → [T, N]. A text's bits do not depend on the batch: embeddings are compared. */
export const projection =
  (b: Backend) =>
  (x: Tensor, w: Weight, bias?: Weight): Tensor =>
    b.linear(x, w, { bias, batchInvariant: true });
