import type { ByteSet } from './byte-set.js';

/** An id of a regular expression over bytes. Equal expressions have equal ids. */
export type Regex = number;

export const NOTHING: Regex = 0; // matches no text
export const EMPTY: Regex = 1; // matches the empty text

export enum Kind {
  Nothing,
  Empty,
  Bytes,
  Concat,
  Or,
  And,
  Not,
  Repeat,
  Multiple,
}

export interface Node {
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly set?: ByteSet;
  readonly parts: readonly Regex[];
  readonly min: number; // Repeat: fewest; Multiple: remainder so far
  readonly max: number; // Repeat: most; Multiple: divisor
}
