import { onAbort as listenTo } from '@quern/core';
import type { RuntimeError } from '../error.js';
import type { Lease } from './lease.js';

/** How a call waits for room in a cache. */
export interface Patience {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; absent: without end. */
  readonly maxWaitMs?: number | undefined;
}

/** What happens while a call waits. */
export interface WaitEvents {
  onAbort(): void;
  /** Once, after a second. */
  onLong(): void;
  onTimeout(maxWaitMs: number): void;
}

/** After so long a wait is worth a notice. */
const longWaitMs = 1000;
/** Of what Node can wait: 24 days. */
const longestTimer = 2 ** 31 - 1;

/** A call that waits for `blocks` of a cache. */
export class Waiter<Kept> {
  private stop = (): void => {};

  constructor(
    readonly blocks: number,
    /** What it built upon last time, which it takes with it if that is still there. */
    readonly parked: Kept | undefined,
    private readonly resolve: (lease: Lease) => void,
    private readonly reject: (error: RuntimeError) => void,
  ) {}

  /** Called where it is not served at once: whoever is costs neither timers nor listeners. */
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
    const deafen = signal && listenTo(signal, onAbort);
    this.stop = () => {
      clearTimeout(long);
      clearTimeout(timeout);
      deafen?.();
    };
  }
}
