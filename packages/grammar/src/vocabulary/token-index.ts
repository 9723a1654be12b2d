import { type Kinds, OTHER, suffixesOf } from './kinds.js';
import { TrieBuilder } from './trie.js';

const TURN = 2_000; // tokens: a few milliseconds

/** What a vocabulary knows of its tokens, found in turns. */
export class TokenIndex {
  /** Of each token: the kinds and the number of its characters. */
  readonly kinds: Int32Array;
  readonly lengths: Int32Array;
  /** Tokens with the same bytes as an earlier one, by that one. */
  readonly twins = new Map<number, number[]>();
  readonly builder: TrieBuilder;
  /** Tokens with text by their first two bytes. */
  private readonly buckets = Array.from({ length: 1 << 16 }, (): number[] => []);

  constructor(
    private readonly texts: readonly Uint8Array[],
    private readonly endOfText: readonly number[],
  ) {
    this.kinds = new Int32Array(texts.length).fill(OTHER);
    this.lengths = new Int32Array(texts.length);
    this.builder = new TrieBuilder(texts.reduce((sum, { length }) => sum + length, 0));
  }

  /** Does the work; yields where other work may come between. */
  *turns(): Generator<void> {
    yield* this.fillBuckets();
    let done = 0;
    for (const bucket of this.buckets) {
      bucket.sort((a, b) => Buffer.compare(this.text(a), this.text(b)) || a - b);
      this.addSorted(bucket);
      done += bucket.length;
      if (done < TURN) continue;
      done = 0;
      yield;
    }
  }

  private *fillBuckets(): Generator<void> {
    const ends = new Set(this.endOfText);
    for (let token = 0; token < this.texts.length; token++) {
      if (token % TURN === 0) yield;
      const text = this.text(token);
      if (text.length === 0 || ends.has(token)) continue;
      (this.buckets[((text[0] as number) << 8) | (text[1] ?? 0)] as number[]).push(token);
    }
  }

  private addSorted(tokens: readonly number[]): void {
    let first = -1; // of equal texts
    for (const token of tokens) {
      const text = this.text(token);
      if (first >= 0 && Buffer.compare(this.text(first), text) === 0) {
        this.addTwin(first, token);
        continue;
      }
      first = token;
      const suffixes = suffixesOf(text);
      this.kinds[token] = suffixes.kinds[0] as Kinds;
      this.lengths[token] = suffixes.lengths[0] as number;
      this.builder.add(token, text, suffixes);
    }
  }

  private addTwin(first: number, token: number): void {
    const twins = this.twins.get(first);
    if (twins) twins.push(token);
    else this.twins.set(first, [token]);
  }

  private text(token: number): Uint8Array {
    return this.texts[token] as Uint8Array;
  }
}
