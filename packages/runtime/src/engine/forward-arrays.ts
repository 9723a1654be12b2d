import type { BatchArrays } from '@quern/core';
import type { SampleArrays } from './sampled-head.js';

/** Inputs of a forward pass of T rows of S sequences. */
export type ForwardArrays = SampleArrays & {
  /** ids are [T]. */
  readonly [Name in keyof BatchArrays | 'ids']: Int32Array;
} & {
  /** [T, D]: what each part but the first takes from the part before; empty for a model of one part. */
  readonly hidden: Float32Array;
};
