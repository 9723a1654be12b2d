import type { Backend, GeluForm, Tensor, Weight } from '@quern/core';

/** The weights of a gated feed-forward. */
export interface FeedForwardWeights {
  /** [F, D] */
  readonly gate: Weight;
  /** [F, D] */
  readonly up: Weight;
  /** [D, F] */
  readonly down: Weight;
  readonly gateBias?: Weight | undefined;
  readonly upBias?: Weight | undefined;
  readonly downBias?: Weight | undefined;
}

/** down(silu(gate(x)) · up(x)): x [T, D] → [T, D] (Shazeer 2020, GLU Variants, eq. 6). */
export const swigluFeedForward = (b: Backend) => gatedFeedForward(b, (gate, up) => b.swiglu(gate, up));

/** down(gelu(gate(x)) · up(x)), gelu in its tanh form: x [T, D] → [T, D] (Shazeer 2020, GLU Variants, eq. 6). */
export const gegluFeedForward = (b: Backend) => gatedFeedForward(b, (gate, up) => b.geglu(gate, up));

function gatedFeedForward(b: Backend, gated: (gate: Tensor, up: Tensor) => Tensor) {
  return (x: Tensor, w: FeedForwardWeights): Tensor => {
    const gate = b.linear(x, w.gate, { bias: w.gateBias }); // [T, F]
    const up = b.linear(x, w.up, { bias: w.upBias }); // [T, F]
    return b.linear(gated(gate, up), w.down, { bias: w.downBias }); // [T, D]
  };
}

/** down(gelu(up(x))): x [T, D] → [T, D] (Vaswani et al. 2017, eq. 2, with another activation). */
export function geluFeedForward(b: Backend, form: GeluForm) {
  return (x: Tensor, w: Omit<FeedForwardWeights, 'gate' | 'gateBias'>): Tensor => {
    const inner = b.gelu(b.linear(x, w.up, { bias: w.upBias }), { form }); // [T, F]
    return b.linear(inner, w.down, { bias: w.downBias }); // [T, D]
  };
}
