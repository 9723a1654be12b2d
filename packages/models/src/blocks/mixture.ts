import type { Backend, Tensor, Weight } from '@quern/core';
import type { ClampedGate, DecoderConfig, MixtureConfig } from '../config/decoder-config.js';
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
  /** [E] */
  readonly routerBias?: Weight | undefined;
  /** [E, F] */
  readonly gateExpertsBias?: Weight | undefined;
  /** [E, F] */
  readonly upExpertsBias?: Weight | undefined;
  /** [E, D] */
  readonly downExpertsBias?: Weight | undefined;
}

/**
 * residual + Σ p_e · down_e(silu(gate_e(x)) · up_e(x)) over the top k experts of the router: x and residual [T, D] →
 * [T, D] (Jiang et al. 2024, Mixtral of Experts, §2.1). Plain ops; one op (moeFused) if the backend has it, no gate is
 * clamped and no matrix has a bias.
 */
export function mixtureFeedForward(b: Backend, routing: MixtureConfig) {
  const { experts: count, chosen, renormalise, clamped } = routing;
  const activate = clamped ? clampedSwiglu(b, clamped) : (gate: Tensor, up: Tensor) => b.swiglu(gate, up);
  return (x: Tensor, residual: Tensor, w: MixtureWeights): Tensor => {
    const experts = { router: w.router, gate: w.gateExperts, up: w.upExperts, down: w.downExperts };
    if (b.moeFused && !clamped && !hasBias(w))
      return b.moeFused.moe(x, experts, residual, { experts: count, chosen, renormalise });
    const [T, D] = x.shape as [number, number];
    const { ids, weights } = route(b, b.linear(x, w.router, { bias: w.routerBias }), routing); // [T, k] both
    const gate = expertRows(b, x, ids, experts.gate, w.gateExpertsBias); // [T · k, F]
    const up = expertRows(b, x, ids, experts.up, w.upExpertsBias); // [T · k, F]
    const each = b.view(ids, [T * chosen, 1]);
    const outputs = expertRows(b, activate(gate, up), each, experts.down, w.downExpertsBias); // [T · k, D]
    return b.add(residual, b.weightedSum(b.view(outputs, [T, chosen, D]), weights)); // [T, D]
  };
}

const hasBias = ({ routerBias, gateExpertsBias, upExpertsBias, downExpertsBias }: MixtureWeights): boolean =>
  [routerBias, gateExpertsBias, upExpertsBias, downExpertsBias].some((bias) => bias !== undefined);

/** x [T, K] times the matrices of experts `ids` [T, k], and their biases: → [T · k, N]. */
export function expertRows(b: Backend, x: Tensor, ids: Tensor, matrices: Weight, bias?: Weight): Tensor {
  const [T, k] = ids.shape as [number, number];
  const y = b.expertLinear(x, matrices, ids); // [T, k, N]
  const rows = b.view(y, [T * k, y.shape[2]!]);
  return bias ? b.add(rows, b.embed(bias, b.view(ids, [T * k]))) : rows;
}

/** g · σ(α · g) · (u + 1), g at most `limit`, u within ±`limit` (gpt-oss model card, OpenAI 2025, §2.2). */
function clampedSwiglu(b: Backend, { alpha, limit }: ClampedGate) {
  return (gate: Tensor, up: Tensor): Tensor => {
    const g = b.clamp(gate, Number.NEGATIVE_INFINITY, limit);
    const gated = b.scale(b.silu(b.scale(g, alpha)), 1 / alpha); // silu(α · g) / α
    return b.add(gated, b.mul(gated, b.clamp(up, -limit, limit)));
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
export function route(b: Backend, scores: Tensor, { chosen, renormalise }: MixtureConfig) {
  const { values, indices } = b.topK(renormalise ? scores : b.softmax(scores), chosen);
  return { ids: indices, weights: renormalise ? b.softmax(values) : values };
}
