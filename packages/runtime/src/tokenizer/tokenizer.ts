import type { Cooperative } from '@quern/core';
import type { FimTokens } from './fim-tokens.js';
import type { TextSteps } from './text-steps.js';

/** Options of `Tokenizer.encode`. */
export interface EncodeOptions {
  /**
   * `'parse'`: spellings of control tokens ("<|im_end|>") become these tokens; for output of a chat template. `'text'`
   * (the default): no text ever becomes a control token; for text typed by users.
   */
  special?: 'parse' | 'text' | undefined;
  /**
   * Removed from the text after the search for control tokens: a spelling with the mark inside stays plain text. Only
   * used with `special: 'parse'`.
   */
  mark?: string | undefined;
  /** Add the beginning-of-sequence token; default: the tokenizer's `addBos`. */
  addBos?: boolean | undefined;
  /** Add the end-of-sequence token; default: the tokenizer's `addEos`. */
  addEos?: boolean | undefined;
}

/** Options of `Tokenizer.encodeInTurns`. */
export interface EncodeInTurnsOptions extends EncodeOptions {
  /** Stop once there are more ids than this. Default: no limit. */
  limit?: number | undefined;
}

/** Options of `Tokenizer.decode`. */
export interface DecodeOptions {
  /** Show the spellings of control tokens instead of hiding them; default false. */
  special?: boolean | undefined;
}

/**
 * Text to token ids and back. `decode(encode(text))` equals `text` if the vocabulary has a token, or byte tokens, for
 * each character. A lone surrogate counts as U+FFFD.
 */
export interface Tokenizer {
  readonly vocabSize: number;
  /** Beginning-of-sequence token. */
  readonly bos?: number;
  /** End-of-sequence token. */
  readonly eos?: number;
  /** All tokens that end a generation: end of sequence, end of turn, end of message. */
  readonly eog: ReadonlySet<number>;
  /** Tokens for filling in the middle of a text. Absent where the vocabulary has none. */
  readonly fim?: FimTokens;
  /** Whether prompts of this model start with `bos`. */
  readonly addBos: boolean;
  /** Whether prompts of this model end with `eos`. */
  readonly addEos: boolean;
  /** Whether `encode` adds a space before the text, and `decode` drops it (SentencePiece's dummy prefix). */
  readonly addSpacePrefix: boolean;

  /**
   * The most bytes of text (UTF-8) per token: n bytes give at least n / longestToken tokens. Absent where no bound
   * exists, as with an unknown token for words of any length.
   */
  readonly longestToken?: number;

  /** @throws TokenizerError BAD_ARGUMENT, BAD_OPTION */
  encode(text: string, options?: EncodeOptions): number[];
  /** The same ids; yields to the event loop. */
  encodeInTurns(text: string, options?: EncodeInTurnsOptions): Promise<number[]>;
  /** @throws TokenizerError BAD_TOKEN, BAD_ARGUMENT, BAD_OPTION */
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  /**
   * Starts a decoding. `continues`: the tokens continue a text. `streams`: the text is read token by token. Absent
   * where the text is just the bytes of the tokens (minus the space of `addSpacePrefix`).
   */
  textSteps?(continues: boolean, streams: boolean): TextSteps;
  /** The bytes of one token, often part of a character. @throws TokenizerError BAD_TOKEN */
  tokenBytes(id: number): Uint8Array;
  /** The token's spelling in the vocabulary ("Ġthe", "▁the", "<0x0A>"). @throws TokenizerError BAD_TOKEN */
  tokenText(id: number): string;
  /** Whether decoding hides the token: control and unknown tokens. @throws TokenizerError BAD_TOKEN */
  isControl(id: number): boolean;
}

/** Encodes plain text, without special tokens. */
export interface TextModel {
  /** Appends to `ids`. `afterSpecial`: the text starts the prompt or follows a special token. */
  encode(text: string, afterSpecial: boolean, ids: number[]): Cooperative<void>;
}
