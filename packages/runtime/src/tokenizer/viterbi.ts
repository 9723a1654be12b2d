import type { Cooperative } from '@quern/core';

/** The vocabulary, as the search uses it. */
export interface Lattice {
  readonly find: (spelling: string) => number | undefined;
  readonly score: (id: number) => number;
  /** Lengths of the tokens, ascending. */
  readonly lengths: readonly number[];
  /** The token for characters without a token. */
  readonly unknown: number;
  readonly unknownScore: number;
}

export const UNKNOWN_PENALTY = 10; // SentencePiece's kUnkPenalty, below the lowest score
/** Characters between two pauses. */
const CHARACTERS_OF_PART = 1024;

/** Lengths of tokens, ascending. */
export const lengthsOf = (spellings: Iterable<string>): readonly number[] => {
  const lengths = new Set<number>();
  for (const { length } of spellings) if (length > 0) lengths.add(length);
  return [...lengths].sort((a, b) => a - b);
};

/**
 * The segmentation with the highest sum of scores (Viterbi). Per position: the last token of the best path, and that
 * token's start.
 */
export function* bestPath(
  text: string,
  lattice: Lattice,
): Cooperative<{ tokens: Int32Array; starts: Int32Array }> {
  const { lengths, unknown, unknownScore } = lattice;
  const best = new Float64Array(text.length + 1).fill(Number.NEGATIVE_INFINITY);
  const tokens = new Int32Array(text.length + 1);
  const starts = new Int32Array(text.length + 1);
  const reach = (start: number, end: number, id: number, score: number) => {
    if (best[start]! + score <= best[end]!) return;
    best[end] = best[start]! + score;
    tokens[end] = id;
    starts[end] = start;
  };

  best[0] = 0;
  for (let start = 0; start < text.length; ) {
    const character = text.codePointAt(start)! > 0xffff ? 2 : 1;
    let isKnown = false;
    for (const length of lengths) {
      if (start + length > text.length) break;
      const id = lattice.find(text.slice(start, start + length));
      if (id === undefined) continue;
      reach(start, start + length, id, lattice.score(id));
      isKnown ||= length === character;
    }
    if (!isKnown) reach(start, start + character, unknown, unknownScore);
    start += character;
    if (start % CHARACTERS_OF_PART < character) yield;
  }
  return { tokens, starts };
}
