import type { RepeatedStep, StepArrays } from '@quern/core';
import type { Batch } from '../batch.js';

/** Adapters of the rows of a step: [T, k], k the most of any row, up to a power of two. */
export type AdapterArrays = {
  /** [T · k]; 0: none. Empty where no row has an adapter. */
  readonly places: Int32Array;
  /** [T · k] */
  readonly scales: Float32Array;
};

/** Number of adapters per row of a step; 0: no row has one. */
export function adaptersPerRow(batch: Batch): number {
  let most = 0;
  for (const { adapters } of batch) if (adapters && adapters.length > most) most = adapters.length;
  return most === 0 ? 0 : 2 ** Math.ceil(Math.log2(most));
}

export const adapterArrays = (T: number, k: number): AdapterArrays => ({
  places: new Int32Array(T * k),
  scales: new Float32Array(T * k),
});

/** Writes the adapters of a batch; rows after it have none. */
export function writeRowAdapters<Arrays extends StepArrays & AdapterArrays & { readonly ids: Int32Array }>(
  step: RepeatedStep<Arrays>,
  batch: Batch,
): void {
  const { places, scales, ids } = step.arrays;
  const k = places.length / ids.length;
  places.fill(0);
  scales.fill(0);
  let t = 0;
  for (const { tokens, adapters = [] } of batch)
    for (const end = t + tokens.length; t < end; t++)
      for (const [j, { place, scale }] of adapters.entries()) {
        places[t * k + j] = place;
        scales[t * k + j] = scale;
      }
  step.write('places', 'scales');
}
