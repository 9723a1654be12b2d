import type { AttentionBatch, Backend, KvCache, LayerState, Tensor, Weight } from '@quern/core';
import type { DecoderConfig, DeltaRuleConfig } from '../config/decoder-config.js';

/** The weights of a gated delta rule; sizes as in `DeltaRuleConfig`, L inputs of a convolution. */
export interface DeltaRuleWeights {
  /** [Hk · dk, D], and its convolution [Hk · dk, L]. */
  readonly deltaQ: Weight;
  readonly convQ: Weight;
  /** As q. */
  readonly deltaK: Weight;
  readonly convK: Weight;
  /** [Hv · dv, D] and [Hv · dv, L]. */
  readonly deltaV: Weight;
  readonly convV: Weight;
  /** [Hv · dv, D] */
  readonly deltaGate: Weight;
  /** [Hv, D] */
  readonly beta: Weight;
  /** [Hv, D] */
  readonly decay: Weight;
  /** [Hv]: added to the decay's product. */
  readonly decayBias: Weight;
  /** [Hv]: factors below 0. */
  readonly decayFactor: Weight;
  /** [dv] */
  readonly deltaNorm: Weight;
  /** [D, Hv · dv] */
  readonly deltaOutput: Weight;
}

/** What a layer with a delta rule keeps: the last inputs of its convolutions, and a matrix [dk, dv] per value head. */
export function deltaRuleState({
  keyHeads,
  valueHeads,
  keyDim,
  valueDim,
  taps,
}: DeltaRuleConfig): LayerState {
  const inputs = (width: number) => ({ heads: taps - 1, width });
  return {
    kind: 'state',
    parts: {
      q: inputs(keyHeads * keyDim),
      k: inputs(keyHeads * keyDim),
      v: inputs(valueHeads * valueDim),
      matrix: { heads: valueHeads, width: keyDim * valueDim },
    },
  };
}

/** The gated delta rule with short convolutions before it (Yang et al. 2024, figure 1): x [T, D], normed → [T, D]. */
export function deltaRule(b: Backend, { deltaRule: rule, normEps }: DecoderConfig) {
  const { keyHeads, valueHeads, keyDim, valueDim, tiled } = rule!;
  const scale = 1 / Math.sqrt(keyDim);
  return (x: Tensor, w: DeltaRuleWeights, i: number, batch: AttentionBatch, cache: KvCache): Tensor => {
    const T = x.shape[0]!;
    const convolved = (weight: Weight, conv: Weight, part: string, shape: readonly number[]) =>
      b.view(b.silu(b.shortConv(b.linear(x, weight), conv, cache.state(i, part), batch)), shape);
    const q = b.l2Normalise(convolved(w.deltaQ, w.convQ, 'q', [T, keyHeads, keyDim]));
    const k = b.l2Normalise(convolved(w.deltaK, w.convK, 'k', [T, keyHeads, keyDim]));
    const v = convolved(w.deltaV, w.convV, 'v', [T, valueHeads, valueDim]);
    const decay = b.softplus(b.linear(x, w.decay), { bias: w.decayBias, factor: w.decayFactor }); // [T, Hv]
    const beta = b.sigmoid(b.linear(x, w.beta)); // [T, Hv]
    const y = b.gatedDelta({ q, k, v }, { decay, beta }, cache.state(i, 'matrix'), batch, { scale, tiled });
    const flat = b.view(b.rmsNorm(y, w.deltaNorm, { eps: normEps }), [T, valueHeads * valueDim]);
    return b.linear(b.swiglu(b.linear(x, w.deltaGate), flat), w.deltaOutput); // [T, D]
  };
}
