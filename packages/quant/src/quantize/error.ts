import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of quantising errors. Readers and writers of the files themselves throw FileError. */
export type QuantizeErrorCode =
  | 'ABORTED' // ended by an AbortSignal
  | 'BAD_ARGUMENT' // an argument or option that is unknown, out of range, or of the wrong type
  | 'SAME_FILE' // the output would overwrite an input
  | 'BAD_IMPORTANCE' // an importance matrix that is broken, or does not fit the model
  | 'BAD_VALUES' // weights that are not finite, or too large for the target format
  | 'WORKER_FAILED'; // a thread ended unexpectedly

/** Thrown by all quantising functions. */
export class QuantizeError extends QuernError<QuantizeErrorCode> {
  static override readonly className: string = 'QuantizeError';
}

/** Refuses an argument or option. */
export const badArgument: Refuse = (message) => new QuantizeError('BAD_ARGUMENT', message);
