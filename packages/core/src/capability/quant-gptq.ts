import type { Weight, WeightBytes } from '../weight.js';

/** A GPTQ matrix [N, K] as Hugging Face folders hold it: packed along K, least significant bits first. */
export interface GptqSource {
  readonly name: string;
  readonly shape: readonly [N: number, K: number];
  readonly bits: 4 | 8;
  /** Columns that share a scale; −1: all of them. */
  readonly groupSize: number;
  /** int32 [K · bits / 32, N]. */
  readonly qweight: WeightBytes;
  /** int32 [groups, N · bits / 32]. */
  readonly qzeros: WeightBytes;
  /** f16 [groups, N]. */
  readonly scales: WeightBytes;
  /** int32 [K], the group of each column (act-order); absent: column ÷ groupSize. */
  readonly groupIndex?: WeightBytes;
  /** Zero points are stored less one (version 1) or as they are (version 2). */
  readonly version: 1 | 2;
}

/** GPTQ weights, reshuffled once at load; `linear` takes the result as any other weight. */
export interface QuantGptq {
  readonly bits: ReadonlySet<4 | 8>;
  /** Throws BAD_WEIGHT where the parts do not fit each other. */
  loadWeight(source: GptqSource): Promise<Weight>;
}
