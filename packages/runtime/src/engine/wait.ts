import { onAbort as listenTo } from '@quern/core';

/** Limits of a call's wait for room in a cache. */
export interface Patience {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; absent: no limit. */
  readonly maxWaitMs?: number | undefined;
}

/** Callbacks of a waiting call. */
export interface WaitEvents {
  onAbort(): void;
  /** Called once, after 1 s. */
  onLong(): void;
  onTimeout(maxWaitMs: number): void;
}

/** A longer wait gives a notice. */
const longWaitMs = 1000;
/** Longest timer of Node, in milliseconds: 24 days. */
const longestTimer = 2 ** 31 - 1;

/** Watches a wait. Returns a function that ends the watch. */
export function watchWait(
  { signal, maxWaitMs }: Patience,
  { onAbort, onLong, onTimeout }: WaitEvents,
): () => void {
  const long = setTimeout(onLong, longWaitMs);
  const timeout =
    maxWaitMs === undefined ? undefined : setTimeout(onTimeout, Math.min(maxWaitMs, longestTimer), maxWaitMs);
  const removeListener = signal && listenTo(signal, onAbort);
  return () => {
    clearTimeout(long);
    clearTimeout(timeout);
    removeListener?.();
  };
}
