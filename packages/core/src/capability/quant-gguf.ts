import type { WeightFormat } from '../weight.js';

/** Weights in GGUF block formats. `loadWeight` takes the bytes of the file unchanged. */
export interface QuantGguf {
  /** Formats for `embed`, `linear` and the fused projections. The op table has an error bound for each. */
  readonly formats: ReadonlySet<WeightFormat>;
}
