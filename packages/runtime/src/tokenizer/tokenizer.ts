import type { Cooperative } from '@quern/core';
import type { TextSteps } from './text-steps.js';

/** How `Tokenizer.encode` treats a text. */
export interface EncodeOptions {
  /**
   * `'parse'` turns the spelling of a control token ("<|im_end|>") into that token: right for the output of a chat
   * template. `'text'` (the default) never yields a control token, whatever the text says: right for what a user typed.
   */
  special?: 'parse' | 'text' | undefined;
  /**
   * A string that is taken out of the text after control tokens were looked for: a spelling that it interrupts is plain
   * text. Only matters with `special: 'parse'`.
   */
  mark?: string | undefined;
  /** Put the beginning-of-sequence token first; default: `addBos` of the tokenizer. */
  addBos?: boolean | undefined;
  /** Put the end-of-sequence token last; default: `addEos` of the tokenizer. */
  addEos?: boolean | undefined;
}

/** How `Tokenizer.encodeInTurns` treats a text. */
export interface EncodeInTurnsOptions extends EncodeOptions {
  /** Once there are more ids than this, the rest of the text is left alone. Default: no limit. */
  limit?: number | undefined;
}

/** How tokens become text. */
export interface DecodeOptions {
  /** Show control tokens by their spelling instead of hiding them; default false. */
  special?: boolean | undefined;
}

/**
 * Text to token ids and back. `decode(encode(text))` is `text` for every vocabulary that has a token, or bytes, for
 * each of its characters. A lone surrogate counts as U+FFFD.
 */
export interface Tokenizer {
  readonly vocabSize: number;
  /** Beginning-of-sequence token. */
  readonly bos?: number;
  /** End-of-sequence token. */
  readonly eos?: number;
  /** Every token that ends a generation: eos, end of turn, end of message. */
  readonly eog: ReadonlySet<number>;
  /** Whether a prompt of this model begins with `bos`. */
  readonly addBos: boolean;
  /** Whether a prompt of this model ends with `eos`. */
  readonly addEos: boolean;
  /** Whether `encode` writes a space before the text, so that `decode` drops one (SentencePiece's dummy prefix). */
  readonly addSpacePrefix: boolean;

  /**
   * The most bytes (UTF-8) of a text that one token stands for, so that n bytes become n / longestToken tokens or more.
   * Absent where no such bound holds: a token for unknown words stands for any of them.
   */
  readonly longestToken?: number;

  /** @throws TokenizerError BAD_ARGUMENT, BAD_OPTION */
  encode(text: string, options?: EncodeOptions): number[];
  /** The same ids, without holding the event loop. */
  encodeInTurns(text: string, options?: EncodeInTurnsOptions): Promise<number[]>;
  /** @throws TokenizerError BAD_TOKEN, BAD_ARGUMENT, BAD_OPTION */
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  /**
   * Begins to turn tokens into text. `continues`: they go on from a text. `streams`: the text is wanted as it grows. Absent
   * where the text is the bytes of the tokens, but for the space of `addSpacePrefix`.
   */
  textSteps?(continues: boolean, streams: boolean): TextSteps;
  /** The bytes one token stands for: often a part of a character. @throws TokenizerError BAD_TOKEN */
  tokenBytes(id: number): Uint8Array;
  /** The token as the vocabulary spells it ("Ġthe", "▁the", "<0x0A>"). @throws TokenizerError BAD_TOKEN */
  tokenText(id: number): string;
  /** Whether the token is hidden from text: control and unknown tokens. @throws TokenizerError BAD_TOKEN */
  isControl(id: number): boolean;
}

/** Turns plain text, free of special tokens, into ids. */
export interface TextModel {
  /** Appends to `ids`. `afterSpecial`: the text is the first of the prompt, or follows a special token. */
  encode(text: string, afterSpecial: boolean, ids: number[]): Cooperative<void>;
}
