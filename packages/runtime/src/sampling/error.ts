import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of sampling errors. */
export type SamplingErrorCode =
  | 'BAD_OPTION' // a sampling option of a wrong type, out of its range, or unknown
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_LOGITS'; // unusable logits: NaN, +Infinity, all -Infinity, or a wrong length

/** Thrown by the constructor of a sampler and by sampling. */
export class SamplingError extends QuernError<SamplingErrorCode> {
  static override readonly className: string = 'SamplingError';
}

/** The error for a bad argument. */
export const badArgument: Refuse = (message) => new SamplingError('BAD_ARGUMENT', message);
