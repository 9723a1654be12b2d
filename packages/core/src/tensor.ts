import type { DType } from './dtype.js';

/**
 * A value inside one step: an opaque handle. Its data lives in the backend, and only while the step runs, unless the
 * step keeps it (see Step.read).
 */
export interface Tensor {
  readonly kind: 'tensor';
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly dtype: DType;
}
