import { QuernError } from '@quern/core';

/**
 * - LOAD_FAILED: loading has failed; `cause` has the reason. The next request tries again.
 * - TOO_LARGE: the model does not fit in the memory of the pool, even alone.
 * - UNKNOWN_MODEL, PINNED: the pool has no such model; the model cannot be unloaded.
 * - ABORTED, DISPOSED: the caller, or the pool, ended the wait.
 */
export type PoolErrorCode = 'LOAD_FAILED' | 'TOO_LARGE' | 'UNKNOWN_MODEL' | 'PINNED' | 'ABORTED' | 'DISPOSED';

/** An error of a `ModelPool`. */
export class PoolError extends QuernError<PoolErrorCode> {}

const memoryCodes = ['MODEL_TOO_LARGE', 'CONTEXT_TOO_LARGE', 'OUT_OF_MEMORY'];

/** Whether a load failed for want of memory, which may be free a little later. */
export const lacksMemory = (error: unknown): boolean =>
  error instanceof QuernError && memoryCodes.includes(error.code);
