import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { badArgument, badOption } from './error.js';
import type { TokenSource, TokenStreamOptions } from './token-source.js';
import type { DecodeOptions, EncodeInTurnsOptions, EncodeOptions } from './tokenizer.js';

/** What each option must be, and its default. */
export const encodeSchema = {
  special: {
    ...rules.oneOf(['parse', 'text']),
    about: "'parse': spellings of control tokens become control tokens; 'text': they stay text",
    byDefault: 'text',
  },
  mark: {
    ...rules.text,
    about:
      'removed from the text after the search for control tokens: a spelling with the mark inside stays plain text',
    absent: 'none',
  },
  addBos: {
    ...rules.flag,
    about: 'add the beginning-of-sequence token',
    absent: "the tokenizer's addBos",
  },
  addEos: { ...rules.flag, about: 'add the end-of-sequence token', absent: "the tokenizer's addEos" },
} as const satisfies Schema<EncodeOptions>;

export const encodeInTurnsSchema = {
  ...encodeSchema,
  limit: { ...rules.whole(0), about: 'stop once there are more ids than this', absent: 'none' },
} as const satisfies Schema<EncodeInTurnsOptions>;

export const decodeSchema = {
  special: {
    ...rules.flag,
    about: 'show the spellings of control tokens instead of hiding them',
    byDefault: false,
  },
} as const satisfies Schema<DecodeOptions>;

export const tokenStreamSchema = {
  ...decodeSchema,
  continues: {
    ...rules.flag,
    about: 'the tokens continue an existing text: a leading space is kept',
    byDefault: false,
  },
} as const satisfies Schema<TokenStreamOptions>;

const ids: Rule<Iterable<number>> = {
  must: 'token ids: an array, or another iterable of numbers',
  holds: (value): value is Iterable<number> =>
    rules.isObject(value) && typeof value[Symbol.iterator as never] === 'function',
};

/** Checks the arguments of `encode`. @throws TokenizerError BAD_ARGUMENT, BAD_OPTION */
export function checkEncode(text: unknown, options: unknown): void {
  checkArgument('encode', 'text', text, rules.text, badArgument);
  checkOptions('encode', options, encodeSchema, badOption);
}

/** Checks the arguments of `encodeInTurns`. @throws TokenizerError BAD_ARGUMENT, BAD_OPTION */
export function checkEncodeInTurns(text: unknown, options: unknown): void {
  checkArgument('encodeInTurns', 'text', text, rules.text, badArgument);
  checkOptions('encodeInTurns', options, encodeInTurnsSchema, badOption);
}

const source: Rule<TokenSource> = {
  must: 'a tokenizer',
  holds: (value): value is TokenSource => rules.isObject(value) && typeof value.tokenBytes === 'function',
};

/** Checks the arguments of a token stream or of `decodeTokens`. @throws TokenizerError BAD_ARGUMENT, BAD_OPTION */
export function checkStream(where: string, tokens: unknown, options: unknown): void {
  checkArgument(where, 'tokens', tokens, source, badArgument);
  checkOptions(where, options, tokenStreamSchema, badOption);
}

/** Checks the arguments of `decode`. @throws TokenizerError BAD_ARGUMENT, BAD_OPTION */
export function checkDecode(tokens: unknown, options: unknown): void {
  needIds(tokens);
  checkOptions('decode', options, decodeSchema, badOption);
}

/** @throws TokenizerError BAD_ARGUMENT */
export const needIds = (tokens: unknown): void => checkArgument('decode', 'ids', tokens, ids, badArgument);
