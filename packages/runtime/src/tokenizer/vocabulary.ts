import { type Cooperative, eachOf } from '@quern/core';
import { TokenizerError } from './error.js';

/** GGUF's token types. */
export const TokenType = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 } as const;

/** The bytes of a token's spelling. */
export type SpellingToBytes = (spelling: string) => Uint8Array;

const utf8 = new TextEncoder();
const BYTE_SPELLING = /^<0x([0-9A-Fa-f]{2})>$/;

/** Whether the spelling is that of a byte token: "<0x0A>". */
export const isByteSpelling = (spelling: string): boolean => BYTE_SPELLING.test(spelling);

/** The tokens of a model: spelling and type of each id, and the ids that plain text may become. */
export class Vocabulary {
  private readonly ids = new Map<string, number>();

  private constructor(
    readonly spellings: readonly string[],
    readonly types: Uint8Array,
    private readonly toBytes: SpellingToBytes,
  ) {}

  /** `spellings[id]`, `types[id]`. `toBytes` is used for normal tokens only. */
  static *of(
    spellings: readonly string[],
    types: Uint8Array,
    toBytes: SpellingToBytes,
  ): Cooperative<Vocabulary> {
    const vocabulary = new Vocabulary(spellings, types, toBytes);
    yield* eachOf(spellings, (spelling, id) => {
      if (vocabulary.isPlain(id)) vocabulary.ids.set(spelling, id);
    });
    return vocabulary;
  }

  /** For tokenizers with their own search: `find` finds nothing. */
  static unindexed(spellings: readonly string[], types: Uint8Array, toBytes: SpellingToBytes): Vocabulary {
    return new Vocabulary(spellings, types, toBytes);
  }

  get size(): number {
    return this.spellings.length;
  }

  /** The id for plain text with this spelling; never a control, unknown or byte token. */
  find(spelling: string): number | undefined {
    return this.ids.get(spelling);
  }

  /** @throws TokenizerError BAD_TOKEN */
  spelling(id: number): string {
    this.check(id);
    return this.spellings[id]!;
  }

  /** @throws TokenizerError BAD_TOKEN */
  isControl(id: number): boolean {
    this.check(id);
    return this.types[id] === TokenType.control || this.types[id] === TokenType.unknown;
  }

  /** @throws TokenizerError BAD_TOKEN */
  bytes(id: number): Uint8Array {
    const spelling = this.spelling(id);
    const byte = this.byteOf(id);
    if (byte !== undefined) return Uint8Array.of(byte);
    return this.isControl(id) || this.types[id] === TokenType.user
      ? utf8.encode(spelling)
      : this.toBytes(spelling);
  }

  /** The token id of each byte ("<0x0A>"), -1 where missing. */
  byteTokens(): Int32Array {
    const tokens = new Int32Array(256).fill(-1);
    for (let id = 0; id < this.size; id++) {
      const byte = this.byteOf(id);
      if (byte !== undefined) tokens[byte] = id;
    }
    return tokens;
  }

  private byteOf(id: number): number | undefined {
    if (this.types[id] !== TokenType.byte) return undefined;
    const digits = BYTE_SPELLING.exec(this.spellings[id]!)?.[1];
    return digits === undefined ? undefined : Number.parseInt(digits, 16);
  }

  private isPlain(id: number): boolean {
    const type = this.types[id];
    return type !== TokenType.control && type !== TokenType.unknown && type !== TokenType.byte;
  }

  private check(id: number): void {
    if (Number.isInteger(id) && id >= 0 && id < this.size) return;
    throw new TokenizerError(
      'BAD_TOKEN',
      `token ${id} is not in the vocabulary: ids are 0 to ${this.size - 1}`,
    );
  }
}
