import { GrammarError } from '../error.js';
import { buildTrie, type Trie } from './trie.js';

export interface VocabularyOptions {
  /** Tokens that end the text: allowed where the grammar is complete. */
  readonly endOfText: readonly number[];
}

/** Sets the bit of `token` in a mask: word token >> 5, bit token & 31. */
export const setBit = (mask: Uint32Array, token: number): void => {
  mask[token >>> 5] = (mask[token >>> 5] as number) | (1 << (token & 31));
};

/**
 * The tokens of a tokenizer, prepared once and shared by all grammars. `tokens[i]`: the bytes of token i; an empty array
 * for tokens that stand for no text (control tokens): grammars never allow them.
 */
export class Vocabulary {
  readonly size: number;
  /** 32-bit words of a mask: size / 32, rounded up. */
  readonly words: number;
  readonly endOfText: readonly number[];
  /** All tokens. */
  readonly trie: Trie;
  /** All tokens but those of plain string content. */
  readonly rest: Trie;
  /** The most characters of a token of plain string content. */
  readonly longest: number;
  /** Tokens with the same bytes as an earlier one, by that one. */
  readonly twins = new Map<number, number[]>();
  private readonly plain = new Map<number, Uint32Array>();
  private readonly lengths: Int32Array; // characters; 0: not plain

  constructor(
    private readonly texts: readonly Uint8Array[],
    { endOfText }: VocabularyOptions,
  ) {
    this.size = texts.length;
    this.words = Math.ceil(texts.length / 32);
    this.endOfText = checkEnds(endOfText, this.size);
    const order = this.sorted();
    this.lengths = Int32Array.from(texts, plainLength);
    this.longest = this.lengths.reduce((most, length) => Math.max(most, length), 0);
    this.trie = this.trieOf(order);
    this.rest = this.trieOf(order.filter((token) => this.lengths[token] === 0));
  }

  bytesOf(token: number): Uint8Array {
    const bytes = this.texts[token];
    if (!bytes)
      throw new GrammarError('BAD_TOKEN', `token ${token}`, `outside the vocabulary of ${this.size}`);
    return bytes;
  }

  /** The mask of tokens that are 1 to `characters` plain characters of a JSON string; made at first use. */
  plainMask(characters: number): Uint32Array {
    const most = Math.min(characters, this.longest);
    const known = this.plain.get(most);
    if (known) return known;
    const mask = new Uint32Array(this.words);
    this.lengths.forEach((length, token) => {
      if (length > 0 && length <= most) setBit(mask, token);
    });
    this.plain.set(most, mask);
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

  private trieOf(order: readonly number[]): Trie {
    return buildTrie(
      order.map((token) => this.texts[token] as Uint8Array),
      order,
    );
  }

  /** Tokens with text by their bytes; of equal ones the first, the others become twins. */
  private sorted(): number[] {
    const texts = this.texts;
    const order: number[] = [];
    const ends = new Set(this.endOfText);
    for (let token = 0; token < texts.length; token++)
      if ((texts[token] as Uint8Array).length > 0 && !ends.has(token)) order.push(token);
    order.sort((a, b) => Buffer.compare(texts[a] as Uint8Array, texts[b] as Uint8Array) || a - b);
    let kept = -1;
    return order.filter((token) => {
      if (kept >= 0 && Buffer.compare(texts[kept] as Uint8Array, texts[token] as Uint8Array) === 0) {
        this.twins.set(kept, [...(this.twins.get(kept) ?? []), token]);
        return false;
      }
      kept = token;
      return true;
    });
  }
}

function checkEnds(tokens: readonly number[], size: number): readonly number[] {
  for (const token of tokens)
    if (!Number.isInteger(token) || token < 0 || token >= size)
      throw new GrammarError('BAD_TOKEN', `token ${token}`, `endOfText must be tokens below ${size}`);
  return [...tokens];
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The characters of a text that needs no escape in a JSON string; 0 if it needs one, or is not whole UTF-8. */
function plainLength(bytes: Uint8Array): number {
  let points = 0;
  let isAscii = true;
  for (const byte of bytes) {
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return 0;
    if (byte >= 0x80) isAscii = false;
    if ((byte & 0xc0) !== 0x80) points++;
  }
  if (isAscii) return points;
  try {
    decoder.decode(bytes);
    return points;
  } catch {
    return 0;
  }
}
