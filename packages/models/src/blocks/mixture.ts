import type { Backend, MoeRouting, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import { type FeedForwardWeights, swigluFeedForward } from './feed-forward.js';

/** The weights of a mixture of E experts. */
export interface MixtureWeights {
  /** [E, D] */
  readonly router: Weight;
  /** [E, F, D] */
  readonly gateExperts: Weight;
  /** [E, F, D] */
  readonly upExperts: Weight;
  /** [E, D, F] */
  readonly downExperts: Weight;
}

/**
 * residual + Σ p_e · down_e(silu(gate_e(x)) · up_e(x)) over the top k experts of the router: x and residual [T, D] →
 * [T, D] (Jiang et al. 2024, Mixtral of Experts, §2.1). One op (moeFused) if the backend has it, else plain ops.
 */
export function mixtureFeedForward(b: Backend, routing: MoeRouting) {
  return (x: Tensor, residual: Tensor, w: MixtureWeights): Tensor => {
    const experts = { router: w.router, gate: w.gateExperts, up: w.upExperts, down: w.downExperts };
    if (b.moeFused) return b.moeFused.moe(x, experts, residual, routing);
    const [T, D] = x.shape as [number, number];
    const { chosen } = routing;
    const { ids, weights } = route(b, b.linear(x, w.router), routing); // [T, k] both
    const gate = b.expertLinear(x, experts.gate, ids); // [T, k, F]
    const up = b.expertLinear(x, experts.up, ids); // [T, k, F]
    const inner = b.view(b.swiglu(gate, up), [T * chosen, gate.shape[2]!]);
    const outputs = b.expertLinear(inner, experts.down, b.view(ids, [T * chosen, 1])); // [T · k, 1, D]
    return b.add(residual, b.weightedSum(b.view(outputs, [T, chosen, D]), weights)); // [T, D]
  };
}

/** Feed-forward weights of a layer: dense or experts. */
export type SparseWeights = {
  readonly [Field in keyof (MixtureWeights & FeedForwardWeights)]?: Weight | undefined;
};

/**
 * Experts in the layers of `mixture.sparse`, dense feed-forward in the others. Both add the residual: x and residual
 * [T, D] → [T, D].
 */
export function sparseFeedForward(b: Backend, { mixture: routing }: DecoderConfig) {
  const mixture = mixtureFeedForward(b, routing!);
  const dense = swigluFeedForward(b);
  return (x: Tensor, residual: Tensor, i: number, w: SparseWeights): Tensor =>
    routing!.sparse[i]
      ? mixture(x, residual, w as MixtureWeights)
      : b.add(residual, dense(x, w as FeedForwardWeights));
}

/** Top k of scores [T, E]. Renormalised: softmax over the k scores alone, since softmax's divisor cancels. */
function route(b: Backend, scores: Tensor, { chosen, renormalise }: MoeRouting) {
  const { values, indices } = b.topK(renormalise ? scores : b.softmax(scores), chosen);
  return { ids: indices, weights: renormalise ? b.softmax(values) : values };
}
