import { rules, type Schema } from '@quern/core';

/** Of calls that can only be ended early. */
export interface SignalOptions {
  /** Ends the call, which rejects with ABORTED. */
  readonly signal?: AbortSignal | undefined;
}

export const signalSchema = {
  signal: { ...rules.signal, about: 'ends the call, which rejects with ABORTED', absent: 'none' },
} as const satisfies Schema<SignalOptions>;
