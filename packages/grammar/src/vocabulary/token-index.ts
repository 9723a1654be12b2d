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
    let done = 0;
    for (const bucket of this.buckets()) {
      bucket.sort((a, b) => Buffer.compare(this.text(a), this.text(b)) || a - b);
      this.addSorted(bucket);
      done += bucket.length;
      if (done < TURN) continue;
      done = 0;
      yield;
    }
  }

  /** Tokens with text by their first two bytes, in order. */
  private buckets(): number[][] {
    const buckets: number[][] = [];
    const ends = new Set(this.endOfText);
    this.texts.forEach((text, token) => {
      if (text.length === 0 || ends.has(token)) return;
      const key = ((text[0] as number) << 8) | (text[1] ?? 0);
      const bucket = buckets[key];
      if (bucket) bucket.push(token);
      else buckets[key] = [token];
    });
    return buckets.filter((bucket) => bucket !== undefined);
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
