import { GrammarError } from '../error.js';
import { type Kinds, OTHER, suffixesOf } from './kinds.js';
import { TokenBytes, type TokenTexts } from './token-bytes.js';
import { type Trie, TrieBuilder } from './trie.js';

const PART = 256; // tokens: a fraction of a millisecond
const MOST_SPLITS = 32; // tokens that share more bytes are few, or nonsense

/** What a vocabulary knows of its tokens, found in parts. */
export class TokenIndex {
  /** Of each token: the kinds and the number of its characters. */
  readonly kinds: Int32Array;
  readonly lengths: Int32Array;
  /** Tokens with the same bytes as an earlier one, by that one. */
  readonly twins = new Map<number, number[]>();
  /** Of all tokens with text, once the work is done. */
  trie!: Trie;
  /** The most bytes of a token. */
  deepest = 0;
  readonly bytes: TokenBytes;

  constructor(
    private readonly texts: TokenTexts,
    private readonly endOfText: readonly number[],
  ) {
    this.kinds = new Int32Array(texts.length).fill(OTHER);
    this.lengths = new Int32Array(texts.length);
    this.bytes = new TokenBytes(texts.length);
  }

  /** Does the work; yields where other work may come between. */
  *work(): Generator<void> {
    const tokens = yield* this.readTexts();
    const builder = yield* TrieBuilder.make(this.bytes.total, this.texts.length);
    yield* this.addAll(builder, tokens, 0);
    this.trie = yield* builder.build();
  }

  /** Returns the tokens with text. */
  private *readTexts(): Generator<void, number[]> {
    const ends = new Set(this.endOfText);
    const tokens: number[] = [];
    for (let token = 0; token < this.texts.length; token++) {
      if (token % PART === 0) yield;
      const text = this.texts.at(token);
      if (!ArrayBuffer.isView(text))
        throw new GrammarError('BAD_TOKEN', `token ${token}`, 'its text must be a Uint8Array');
      this.bytes.add(text);
      if (text.length === 0 || ends.has(token)) continue;
      tokens.push(token);
      this.deepest = Math.max(this.deepest, text.length);
    }
    return tokens;
  }

  /** Adds tokens that share their first `depth` bytes, in ascending order. */
  private *addAll(builder: TrieBuilder, tokens: number[], depth: number): Generator<void> {
    if (tokens.length <= PART || depth === MOST_SPLITS) {
      tokens.sort((a, b) => this.bytes.compare(a, b) || a - b);
      return yield* this.addSorted(builder, tokens);
    }
    const ended: number[] = [];
    const byNext: number[][] = new Array(256);
    for (const [i, token] of tokens.entries()) {
      if (i % PART === 0) yield;
      const next = this.bytes.byteOf(token, depth);
      if (next === undefined) ended.push(token);
      else if (byNext[next]) byNext[next].push(token);
      else byNext[next] = [token];
    }
    yield* this.addSorted(builder, ended);
    for (const group of byNext) if (group) yield* this.addAll(builder, group, depth + 1);
  }

  private *addSorted(builder: TrieBuilder, tokens: readonly number[]): Generator<void> {
    let first = -1; // of equal texts
    for (const [i, token] of tokens.entries()) {
      if (i % PART === 0) yield;
      if (first >= 0 && this.bytes.compare(first, token) === 0) {
        this.addTwin(first, token);
        continue;
      }
      first = token;
      const text = this.bytes.of(token);
      const suffixes = suffixesOf(text);
      this.kinds[token] = suffixes.kinds[0] as Kinds;
      this.lengths[token] = suffixes.lengths[0] as number;
      builder.add(token, text, suffixes);
    }
  }

  private addTwin(first: number, token: number): void {
    const twins = this.twins.get(first);
    if (twins) twins.push(token);
    else this.twins.set(first, [token]);
  }
}
