import type { Tensor } from '../tensor.js';
import type { Weight } from '../weight.js';

/** How a router picks experts. */
export interface MoeRouting {
  /** E, experts in all. */
  readonly experts: number;
  /** k, experts per token. */
  readonly chosen: number;
  /** Weights of the chosen experts are divided by their sum. */
  readonly renormalise: boolean;
}

/** A mixture-of-experts feed-forward as one entry of the plan, for any number of rows. */
export interface MoeFused {
  /**
   * residual + Σ over the chosen experts e of p_e · down_e(swiglu(gate_e(x), up_e(x))), where p = softmax(x · routerᵀ):
   * x [T, D], router [E, D], gate and up [E, F, D], down [E, D, F], residual [T, D] → [T, D].
   * Equal to the plain ops within the tolerance of `linear`; ties in the router go to the lowest index.
   */
  moe(
    x: Tensor,
    experts: { readonly router: Weight; readonly gate: Weight; readonly up: Weight; readonly down: Weight },
    residual: Tensor,
    routing: MoeRouting,
  ): Tensor;
}
