import type { KvSequence } from '@quern/core';
import type { Adjustment } from '../sampling/adjust.js';
import type { Draws } from '../sampling/draws.js';
import type { AdapterUse } from './adapter-use.js';

/** Tokens of a sequence for a step, from position `start` on. The sequence has room for them. */
export interface StepRows {
  readonly sequence: KvSequence;
  readonly start: number;
  readonly tokens: readonly number[];
  /** Lets the device draw the next token. Absent: the device takes the likeliest token. */
  readonly draws?: Draws | undefined;
  /** Adapters of the sequence; absent: none. */
  readonly adapters?: readonly AdapterUse[] | undefined;
  /** As `TokenChoice.adjustment`. */
  readonly adjustment?: Adjustment | undefined;
  /** As `TokenChoice.mask`. */
  readonly mask?: Int32Array | undefined;
}

/** Rows with logits: none, the last row of each sequence, or all. */
export type LogitsOf = 'none' | 'last' | 'all';
