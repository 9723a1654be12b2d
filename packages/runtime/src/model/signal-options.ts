import { rules, type Schema } from '@quern/core';

/** Options of calls whose only option is to end early. */
export interface SignalOptions {
  /** Ends the call; the call rejects with ABORTED. */
  readonly signal?: AbortSignal | undefined;
}

export const signalSchema = {
  signal: { ...rules.signal, about: 'ends the call; the call rejects with ABORTED', absent: 'none' },
} as const satisfies Schema<SignalOptions>;
