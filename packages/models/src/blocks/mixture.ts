import type { Backend, MoeRouting, Tensor, Weight } from '@quern/core';
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
  /** [E], added to the scores by which experts are chosen, not to their weights. */
  readonly selectionBias?: Weight | undefined;
  /** The shared expert: [F, D], [F, D], [D, F]. */
  readonly sharedGate?: Weight | undefined;
  readonly sharedUp?: Weight | undefined;
  readonly sharedDown?: Weight | undefined;
  /** [1, D]: the shared expert's output is multiplied by the sigmoid of this product (Qwen3-Next). */
  readonly sharedRouter?: Weight | undefined;
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
 * [T, D] (Jiang et al. 2024, Mixtral of Experts, §2.1), and the shared expert, if any. Plain ops; one op (moeFused) if
 * the backend has it, the router is a softmax alone, no gate is clamped and no matrix has a bias.
 */
export function mixtureFeedForward(b: Backend, routing: MixtureConfig) {
  const { experts: count, chosen, renormalise, clamped, sharedFeedForward } = routing;
  const activate = clamped ? clampedSwiglu(b, clamped) : (gate: Tensor, up: Tensor) => b.swiglu(gate, up);
  const shared = sharedExpert(b);
  return (x: Tensor, residual: Tensor, w: MixtureWeights): Tensor => {
    const base = sharedFeedForward ? b.add(residual, shared(x, w)) : residual;
    const experts = { router: w.router, gate: w.gateExperts, up: w.upExperts, down: w.downExperts };
    if (b.moeFused && !clamped && !hasBias(w) && !needsRoute(routing, w) && !routing.scale)
      return b.moeFused.moe(x, experts, base, { experts: count, chosen, renormalise });
    const [T, D] = x.shape as [number, number];
    const { ids, weights } = route(b, b.linear(x, w.router, { bias: w.routerBias }), routing, w); // [T, k] both
    const gate = expertRows(b, x, ids, experts.gate, w.gateExpertsBias); // [T · k, F]
    const up = expertRows(b, x, ids, experts.up, w.upExpertsBias); // [T · k, F]
    const each = b.view(ids, [T * chosen, 1]);
    const outputs = expertRows(b, activate(gate, up), each, experts.down, w.downExpertsBias); // [T · k, D]
    return b.add(base, b.weightedSum(b.view(outputs, [T, chosen, D]), weights)); // [T, D]
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

/** The router is more than a softmax of all or of the chosen. */
const needsRoute = (
  { score, groups }: Partial<MixtureConfig>,
  { selectionBias }: Pick<MixtureWeights, 'selectionBias'>,
): boolean => score !== undefined || groups !== undefined || selectionBias !== undefined;

/** Top k of scores [T, E]. Renormalised: softmax over the k scores alone, since softmax's divisor cancels. */
export function route(
  b: Backend,
  scores: Tensor,
  routing: MoeRouting & Partial<MixtureConfig>,
  w: Pick<MixtureWeights, 'selectionBias'> = {},
) {
  const { chosen, renormalise, score = 'softmax', groups, scale } = routing;
  if (needsRoute(routing, w))
    return b.route(scores, { score, chosen, bias: w.selectionBias, groups, renormalise, scale });
  const { values, indices } = b.topK(renormalise ? scores : b.softmax(scores), chosen);
  const weights = renormalise ? b.softmax(values) : values;
  return { ids: indices, weights: scale === undefined ? weights : b.scale(weights, scale) };
}

/** The expert of every row; its gate is the weight of a router over one expert: x [T, D] → [T, D]. */
function sharedExpert(b: Backend) {
  const feedForward = swigluFeedForward(b);
  return (x: Tensor, { sharedGate, sharedUp, sharedDown, sharedRouter }: MixtureWeights): Tensor => {
    const y = feedForward(x, { gate: sharedGate!, up: sharedUp!, down: sharedDown! });
    if (!sharedRouter) return y;
    const { weights } = b.route(b.linear(x, sharedRouter), { score: 'sigmoid', chosen: 1 }); // [T, 1]
    return b.weightedSum(b.view(y, [x.shape[0]!, 1, x.shape[1]!]), weights);
  };
}
