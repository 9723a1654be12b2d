import type { Backend, LinearOptions, Tensor, Weight } from '@quern/core';
import type { MatrixStack } from './adapter-stacks.js';

/** The adapters of the T rows of a step: up to k per row. */
export interface AdaptedRows {
  /** [T, k] i32: places of adapters in the stacks; 0: none. */
  readonly places: Tensor;
  /** [T, k] f32: factors of their changes. */
  readonly scales: Tensor;
}

/**
 * The backend of a model whose rows have adapters: y = x · wᵀ + Σ_j scale_j · (x · A_jᵀ) · B_jᵀ (Hu et al. 2021, eq. 3).
 * Every row takes the matrices of its own adapters from the stacks, as rows of a mixture take those of their experts.
 */
export function adaptedBackend(
  b: Backend,
  stacks: ReadonlyMap<Weight, MatrixStack>,
  { places, scales }: AdaptedRows,
): Backend {
  const [T, k] = places.shape as [number, number];

  const change = (x: Tensor, { a, b: up }: MatrixStack): Tensor => {
    const low = b.expertLinear(x, a, places); // [T, k, r]
    const [, , r] = low.shape as [number, number, number];
    const high = b.expertLinear(b.view(low, [T * k, r]), up, b.view(places, [T * k, 1])); // [T · k, 1, N]
    return b.weightedSum(b.view(high, [T, k, up.shape[1]!]), scales); // [T, N]
  };

  const linear = (x: Tensor, w: Weight, options?: LinearOptions): Tensor => {
    const y = b.linear(x, w, options);
    const stack = stacks.get(w);
    return stack ? b.add(y, change(x, stack)) : y;
  };

  return { ...b, linear };
}
