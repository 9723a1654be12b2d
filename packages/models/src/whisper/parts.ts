import type { Backend, Tensor, Weight } from '@quern/core';

/** Default of torch's LayerNorm; files do not hold it. */
const eps = 1e-5;

export const layerNorm =
  (b: Backend) =>
  (x: Tensor, w: Weight, bias: Weight): Tensor =>
    b.layerNorm(x, w, bias, { eps });

export interface FeedForwardWeights {
  /** [F, D] */
  readonly up: Weight;
  readonly upBias: Weight;
  /** [D, F] */
  readonly down: Weight;
  readonly downBias: Weight;
}

/** gelu(x · upᵀ) · downᵀ with biases: [T, D] → [T, D]. */
export const geluFeedForward =
  (b: Backend) =>
  (x: Tensor, w: FeedForwardWeights): Tensor =>
    b.linear(b.gelu(b.linear(x, w.up, { bias: w.upBias })), w.down, { bias: w.downBias });
