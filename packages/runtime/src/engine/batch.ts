import type { AdapterUse } from './adapter-use.js';
import type { RowSampling } from './sampling/params.js';

/** Consecutive tokens of one sequence that a step computes, from position `start` on. */
export interface SequenceRows {
  readonly start: number;
  readonly tokens: readonly number[];
  /** Blocks of the sequence, with room for the tokens. */
  readonly blocks: readonly number[];
  /** How many of the last tokens have an output: 0 where the prompt goes on, more than 1 where drafts are checked. */
  readonly outputs: number;
  /** Adapters of the sequence; absent: none. */
  readonly adapters?: readonly AdapterUse[] | undefined;
  /** How the tokens of its outputs are chosen. Absent: the device takes the likeliest ones. */
  readonly sampling?: RowSampling | undefined;
}

/** What a step computes: rows of S sequences. */
export type Batch = readonly SequenceRows[];

/** Number of rows of a batch. */
export const rowsOf = (batch: Batch): number => batch.reduce((sum, { tokens }) => sum + tokens.length, 0);

/** Number of rows of a batch that have an output. */
export const outputsOf = (batch: Batch): number => batch.reduce((sum, { outputs }) => sum + outputs, 0);

/** Most steps of a chain: steps that the device computes one after the other, each from the tokens of the one before. */
export const longestChain = 16;
