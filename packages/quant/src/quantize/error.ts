import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of errors about quantising. Readers and writers of the files themselves throw FileError. */
export type QuantizeErrorCode =
  | 'ABORTED' // an AbortSignal ended it
  | 'BAD_ARGUMENT' // an argument or option of a wrong type, out of its documented range, or unknown
  | 'SAME_FILE' // the output would overwrite an input
  | 'BAD_IMPORTANCE' // an importance matrix that is broken, or does not fit the model
  | 'BAD_VALUES' // weights that are not finite, or not in the format asked for
  | 'WORKER_FAILED'; // a thread ended by itself

/** Thrown by whatever quantises. */
export class QuantizeError extends QuernError<QuantizeErrorCode> {
  static override readonly className: string = 'QuantizeError';
}

/** Refuses an argument or option. */
export const badArgument: Refuse = (message) => new QuantizeError('BAD_ARGUMENT', message);
