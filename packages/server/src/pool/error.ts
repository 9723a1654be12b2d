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
