import type { KvSequence } from '@quern/core';
import type { AdapterUse } from './adapter-use.js';
import type { RowSampling } from './sampling/params.js';

/** Tokens of a sequence for a step, from position `start` on. The sequence has room for them. */
export interface StepRows {
  readonly sequence: KvSequence;
  readonly start: number;
  readonly tokens: readonly number[];
  /** How many of the last tokens have an output: more than 1 where drafts are checked; default 1. */
  readonly outputs?: number | undefined;
  /** How the tokens of its outputs are chosen. Absent: the device takes the likeliest ones. */
  readonly sampling?: RowSampling | undefined;
  /** Adapters of the sequence; absent: none. */
  readonly adapters?: readonly AdapterUse[] | undefined;
}

/** Rows with logits: none, the last `outputs` rows of each sequence, or all. */
export type LogitsOf = 'none' | 'last' | 'all';

/** Number of rows of a batch that have an output. */
export const outputsOf = (batch: readonly StepRows[]): number =>
  batch.reduce((sum, { outputs = 1 }) => sum + outputs, 0);
