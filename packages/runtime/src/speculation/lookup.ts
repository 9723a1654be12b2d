import { DraftLength, type LengthChoice, longestDraft, rowCost } from './draft-length.js';
import { type Draft, type Drafter, noDraft } from './drafter.js';
import { ngramsOf, type SpeculateByLookup } from './speculate-options.js';

/** Prompt lookup decoding (Saxena 2023): the tokens after an earlier occurrence of the last n tokens are the draft. */
export class Lookup implements Drafter {
  private readonly maxDraft: number;
  private readonly maxNgram: number;
  private readonly minNgram: number;
  /** One per n-gram length, from 1: drafts from longer matches are accepted more often. */
  private readonly lengths: readonly LengthChoice[];
  /** Length of the match of the last draft. */
  private matched = 0;

  constructor(options: SpeculateByLookup) {
    this.maxDraft = options.maxDraft ?? 10;
    const { maxNgram, minNgram } = ngramsOf(options);
    this.maxNgram = maxNgram;
    this.minNgram = minNgram;
    const { adaptive = true } = options;
    this.lengths = Array.from({ length: maxNgram }, (_, i) =>
      adaptive ? new DraftLength(1 - 0.6 / (i + 1), rowCost) : longestDraft,
    );
  }

  async draft(history: readonly number[], most: number, calls = 1): Promise<Draft> {
    const { at, matched } = longestMatch(history, this.maxNgram);
    if (matched < this.minNgram) return noDraft;
    const count = this.lengths[matched - 1]!.choose(Math.min(most, this.maxDraft), calls);
    this.matched = matched;
    return { tokens: continuation(history, at, count) };
  }

  learn(drafted: number, accepted: number): void {
    this.lengths[this.matched - 1]!.learn(drafted, accepted);
  }

  close(): void {}
}

/**
 * The last earlier occurrence of the longest possible suffix of `history` (≤ `most` tokens): the index after it, and
 * its length.
 */
function longestMatch(history: readonly number[], most: number): { at: number; matched: number } {
  const end = history.length - 1;
  let best = { at: 0, matched: 0 };
  for (let i = end - 1; i >= 0 && best.matched < most; i--) {
    let matched = 0;
    while (matched < most && matched <= i && history[i - matched] === history[end - matched]) matched++;
    if (matched > best.matched) best = { at: i + 1, matched };
  }
  return best;
}

/** `count` tokens from index `at`; past the end, the copied tokens repeat. */
function continuation(history: readonly number[], at: number, count: number): number[] {
  const period = history.length - at;
  return Array.from({ length: count }, (_, i) => history[at + (i % period)]!);
}
