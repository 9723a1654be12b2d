import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of sampling errors. */
export type SamplingErrorCode =
  | 'BAD_OPTION' // a sampling option of a wrong type, out of its range, or unknown
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_LOGITS'; // logits that no token can be drawn from: NaN, +Infinity, all -Infinity, a wrong length

/** Thrown when a sampler is made, and when it samples. */
export class SamplingError extends QuernError<SamplingErrorCode> {
  static override readonly className: string = 'SamplingError';
}

/** Refuses an argument. */
export const badArgument: Refuse = (message) => new SamplingError('BAD_ARGUMENT', message);
