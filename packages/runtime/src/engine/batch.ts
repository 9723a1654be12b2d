import type { AdapterUse } from './adapter-use.js';
import type { RowSampling } from './sampling/params.js';

/** Consecutive tokens of one sequence that a step computes, from position `start` on. */
export interface SequenceRows {
  readonly start: number;
  readonly tokens: readonly number[];
  /** Blocks of the sequence, with room for the tokens. */
  readonly blocks: readonly number[];
  /** Of caches with states: the state before the tokens, and the place of the one after them; −1: none. */
  readonly states?: readonly [read: number, write: number] | undefined;
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

/**
 * Most sequences that decode in one step: an eighth of a chunk of a prompt, 64 to 256. Devices that take long chunks compute many rows in
 * little more time than few: on an H200 a step of 256 rows of an 8B model takes 14.5 ms, four of 64 rows 47 ms.
 */
export const batchRows = (prefillChunk: number): number => Math.min(256, Math.max(64, prefillChunk >> 3));

/** Numbers of rows of captured steps above `exactSizes`; a step with another number has idle rows. */
export const stride = 8;
/** The same above `largeSizes`. */
const largeStride = 32;
/** Up to this many rows, and above `largestSize`, steps have no idle rows. */
const exactSizes = 16;
export const largeSizes = 64;
const largestSize = 256;

/** The number of rows that a step of `rows` rows computes, idle rows included. */
export function sizeOf(rows: number): number {
  if (rows <= exactSizes || rows > largestSize) return rows;
  const multiple = rows <= largeSizes ? stride : largeStride;
  return Math.ceil(rows / multiple) * multiple;
}
