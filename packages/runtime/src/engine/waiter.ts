import { onAbort as listenTo } from '@quern/core';
import type { RuntimeError } from '../error.js';
import type { Lease } from './lease.js';

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

/** A call waiting for `blocks` of a cache. */
export class Waiter<Kept> {
  private stop = (): void => {};

  constructor(
    readonly blocks: number,
    /** The parked sequence of the previous call, reused if it still exists. */
    readonly parked: Kept | undefined,
    private readonly resolve: (lease: Lease) => void,
    private readonly reject: (error: RuntimeError) => void,
  ) {}

  /** Starts the wait. Calls served at once skip it: no timers, no listeners. */
  wait({ signal, maxWaitMs }: Patience, { onAbort, onLong, onTimeout }: WaitEvents): void {
    if (signal?.aborted) onAbort();
    else if (maxWaitMs === 0) onTimeout(0);
    else this.listen(signal, maxWaitMs, { onAbort, onLong, onTimeout });
  }

  serve(lease: Lease): void {
    this.stop();
    this.resolve(lease);
  }

  fail(error: RuntimeError): void {
    this.stop();
    this.reject(error);
  }

  private listen(
    signal: AbortSignal | undefined,
    maxWaitMs: number | undefined,
    { onAbort, onLong, onTimeout }: WaitEvents,
  ): void {
    const long = setTimeout(onLong, longWaitMs);
    const timeout =
      maxWaitMs === undefined
        ? undefined
        : setTimeout(onTimeout, Math.min(maxWaitMs, longestTimer), maxWaitMs);
    const removeListener = signal && listenTo(signal, onAbort);
    this.stop = () => {
      clearTimeout(long);
      clearTimeout(timeout);
      removeListener?.();
    };
  }
}
