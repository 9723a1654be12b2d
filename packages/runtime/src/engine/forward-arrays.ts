import type { BatchArrays } from '@quern/core';
import type { AdapterArrays } from './adapter-arrays.js';
import type { SamplingArrays } from './sampling/record.js';

/** Inputs of a forward pass: T rows of S sequences. */
export type ForwardArrays = SamplingArrays &
  AdapterArrays & {
    /** ids are [T]. */
    readonly [Name in keyof BatchArrays | 'ids']: Int32Array;
  } & {
    /** [T, D]: input of every part but the first, from the part before. Empty for a model of one part. */
    readonly hidden: Float32Array;
  };
