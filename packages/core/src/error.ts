/**
 * The base of every error Quern throws on purpose: a stable `code` for programs, a message for people.
 * The message says what went wrong, where, and what to do; it may change between releases, the code may not.
 */
export class QuernError<Code extends string = string> extends Error {
  override readonly name: string = 'QuernError';

  constructor(
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Stable codes of errors that come from a backend, a step or an op call. */
export type BackendErrorCode =
  | 'BAD_SHAPE' // an operand's shape does not fit the op
  | 'BAD_DTYPE' // an operand's element type does not fit the op
  | 'BAD_ARGUMENT' // any other argument out of its documented range
  | 'WRONG_STEP' // a tensor of another step, or of another backend
  | 'STEP_FINISHED' // recording into, or running, a step that has already run
  | 'NOT_KEPT' // reading a tensor that the plan did not keep
  | 'DISPOSED' // use after dispose
  | 'OUT_OF_MEMORY' // the device cannot give the bytes asked for
  | 'UNSUPPORTED' // this backend has no kernel or capability for it
  | 'BAD_DRIVER' // a driver breaks its contract: a hole in the manifest, a missing kernel
  | 'BAD_WEIGHT' // a weight's file, offset, length or format is wrong
  | 'OUT_OF_RANGE' // an index found out of range while running: a token id, a slot, a block
  | 'ABORTED' // an AbortSignal ended it
  | 'DEVICE_FAILED'; // the device or its library reported a failure

/** Thrown by backends, steps and op calls. */
export class BackendError extends QuernError<BackendErrorCode> {
  override readonly name = 'BackendError';
}
