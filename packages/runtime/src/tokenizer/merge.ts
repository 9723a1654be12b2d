import type { Cooperative } from '@quern/core';
import { PairQueue } from './pair-queue.js';

/** Pairs between two pauses. */
const PAIRS_OF_PART = 1024;

/** Rank of merging text[start, middle) with text[middle, end); the lowest goes first. Undefined: no merge. */
export type PairRank = (start: number, middle: number, end: number) => number | undefined;

/**
 * Byte-pair encoding: merges the best-ranked neighbours until no merge is left. O(n log n) in the number of symbols.
 *
 * `starts`: the start of every symbol, then the end of the text. Returns the same for the merged symbols.
 */
export function* mergePairs(
  starts: readonly number[],
  rankOf: PairRank,
  onMerge?: (start: number, middle: number, end: number, rank: number) => void,
): Cooperative<number[]> {
  const end = starts.length - 1;
  const next = countedFrom(1, starts.length); // -1 for a symbol merged into its left neighbour
  const previous = countedFrom(-1, starts.length);
  const queue = new PairQueue();
  const offer = (left: number) => {
    const right = next[left]!;
    if (right >= end) return;
    const rank = rankOf(starts[left]!, starts[right]!, starts[next[right]!]!);
    if (rank !== undefined) queue.push(rank, left, right, next[right]!);
  };

  for (let symbol = 0; symbol < end; symbol++) {
    offer(symbol);
    if (symbol % PAIRS_OF_PART === PAIRS_OF_PART - 1) yield;
  }
  let looked = 0;
  for (let pair = queue.pop(); pair; pair = queue.pop()) {
    if (++looked % PAIRS_OF_PART === 0) yield;
    if (next[pair.left] !== pair.right || next[pair.right] !== pair.end) continue; // stale: one of the two has changed
    onMerge?.(starts[pair.left]!, starts[pair.right]!, starts[pair.end]!, pair.rank);
    next[pair.left] = pair.end;
    next[pair.right] = -1;
    previous[pair.end] = pair.left;
    offer(pair.left);
    if (pair.left > 0) offer(previous[pair.left]!);
  }
  return boundaries(starts, next);
}

/** first, first + 1, … A loop: `Int32Array.from` with a function takes thirty times as long. */
function countedFrom(first: number, length: number): Int32Array {
  const counted = new Int32Array(length);
  for (let i = 0; i < length; i++) counted[i] = first + i;
  return counted;
}

function boundaries(starts: readonly number[], next: Int32Array): number[] {
  const merged: number[] = [];
  for (let symbol = 0; symbol < starts.length; symbol = next[symbol]!) merged.push(starts[symbol]!);
  return merged;
}
