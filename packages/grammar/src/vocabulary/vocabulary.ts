import { GrammarError } from '../error.js';
import { inTurns } from '../turns.js';
import type { Kinds } from './kinds.js';
import type { TokenBytes, TokenTexts } from './token-bytes.js';
import { TokenIndex } from './token-index.js';
import type { Trie } from './trie.js';

const MAX_KIND_MASKS = 64; // 1.2 MB with 151,936 tokens

export interface VocabularyOptions {
  /** Tokens that end the text: allowed where the grammar is complete. */
  readonly endOfText: readonly number[];
}

/** Sets the bit of `token` in a mask: word token >> 5, bit token & 31. */
export const setBit = (mask: Uint32Array, token: number): void => {
  mask[token >>> 5] = (mask[token >>> 5] as number) | (1 << (token & 31));
};

/**
 * The tokens of a tokenizer, prepared once and shared by all grammars. `texts.at(i)`: the bytes of token i; an empty
 * array for tokens that stand for no text (control tokens): grammars never allow them.
 */
export class Vocabulary {
  readonly size: number;
  /** 32-bit words of a mask: size / 32, rounded up. */
  readonly words: number;
  readonly endOfText: readonly number[];
  readonly trie: Trie;
  /** The most bytes of a token. */
  readonly deepest: number;
  /** Tokens with the same bytes as an earlier one, by that one. */
  readonly twins: ReadonlyMap<number, readonly number[]>;
  private readonly texts: TokenBytes;
  private readonly kinds: Int32Array; // of each token
  private readonly lengths: Int32Array; // characters of each token
  private readonly kindMasks = new Map<string, Uint32Array>();

  /**
   * Takes half a second of 150,000 tokens; `Vocabulary.build` does the same in turns.
   *
   * @param indexed of `Vocabulary.build` alone
   */
  constructor(texts: TokenTexts, { endOfText }: VocabularyOptions, indexed?: TokenIndex) {
    this.size = texts.length;
    this.words = Math.ceil(texts.length / 32);
    this.endOfText = checkEnds(endOfText, this.size);
    const index = indexed ?? new TokenIndex(texts, this.endOfText);
    if (!indexed) for (const _ of index.work());
    this.texts = index.bytes;
    this.kinds = index.kinds;
    this.lengths = index.lengths;
    this.twins = index.twins;
    this.trie = index.trie;
    this.deepest = index.deepest;
  }

  /** The same in turns of a few milliseconds: other work of the event loop goes on meanwhile. */
  static async build(texts: TokenTexts, options: VocabularyOptions): Promise<Vocabulary> {
    const index = new TokenIndex(texts, checkEnds(options.endOfText, texts.length));
    await inTurns(index.work());
    return new Vocabulary(texts, options, index);
  }

  bytesOf(token: number): Uint8Array {
    this.needToken(token);
    return this.texts.of(token);
  }

  /** @throws GrammarError BAD_TOKEN */
  needToken(token: number): void {
    if (!(token >= 0 && token < this.size))
      throw new GrammarError('BAD_TOKEN', `token ${token}`, `outside the vocabulary of ${this.size}`);
  }

  /** The mask of tokens of up to `most` characters, all of `kinds`; read-only. */
  maskOf(kinds: Kinds, most: number): Uint32Array {
    const key = `${kinds},${most}`;
    const known = this.kindMasks.get(key);
    if (known) return known;
    const mask = new Uint32Array(this.words);
    for (let token = 0; token < this.size; token++)
      if (((this.kinds[token] as Kinds) & ~kinds) === 0 && (this.lengths[token] as number) <= most)
        setBit(mask, token);
    if (this.kindMasks.size >= MAX_KIND_MASKS)
      this.kindMasks.delete(this.kindMasks.keys().next().value as string);
    this.kindMasks.set(key, mask);
    return mask;
  }

  /** The longest token at `at`; `isOpen`: a longer one begins with all the bytes that are left. */
  longestMatch(
    bytes: Uint8Array,
    at: number,
  ): { token: number; length: number; isOpen: boolean } | undefined {
    const { bytes: edges, ends, tokens } = this.trie;
    let best: { token: number; length: number; isOpen: boolean } | undefined;
    let [node, end] = [0, edges.length];
    for (let offset = at; offset < bytes.length; offset++) {
      while (node < end && edges[node] !== bytes[offset]) node = ends[node] as number;
      if (node >= end) return best;
      const token = tokens[node] as number;
      if (token >= 0) best = { token, length: offset + 1 - at, isOpen: false };
      end = ends[node] as number;
      node++;
    }
    return best && { ...best, isOpen: node < end };
  }
}

function checkEnds(tokens: readonly number[], size: number): readonly number[] {
  for (const token of tokens)
    if (!Number.isInteger(token) || token < 0 || token >= size)
      throw new GrammarError('BAD_TOKEN', `token ${token}`, `endOfText must be tokens below ${size}`);
  return [...tokens];
}
