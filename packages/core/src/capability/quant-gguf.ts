import type { WeightFormat } from '../weight.js';

/** Weights in GGUF block formats, read natively: `loadWeight` takes them as they lie in the file. */
export interface QuantGguf {
  /** The formats `embed`, `linear` and the fused projections compute with; an error bound for each is in the op table. */
  readonly formats: ReadonlySet<WeightFormat>;
}
