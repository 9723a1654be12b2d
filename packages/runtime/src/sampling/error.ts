import { QuernError } from '@quern/core';

/** Stable codes of sampling errors. */
export type SamplingErrorCode =
  | 'BAD_OPTION' // a sampling option out of its range
  | 'BAD_LOGITS'; // logits that no token can be drawn from: NaN, +Infinity, all -Infinity, a wrong length

/** Thrown when a sampler is made, and when it samples. */
export class SamplingError extends QuernError<SamplingErrorCode> {
  static override readonly className: string = 'SamplingError';
}
