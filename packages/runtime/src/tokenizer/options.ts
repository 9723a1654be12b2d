import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { badArgument, badOption } from './error.js';
import type { TokenSource, TokenStreamOptions } from './token-source.js';
import type { DecodeOptions, EncodeInTurnsOptions, EncodeOptions } from './tokenizer.js';

/** What each option must be, and its default. */
export const encodeSchema = {
  special: {
    ...rules.oneOf(['parse', 'text']),
    about: "'parse' turns the spelling of a control token into that token",
    byDefault: 'text',
  },
  mark: {
    ...rules.text,
    about:
      'taken out of the text after control tokens were looked for: a spelling that it interrupts is plain text',
    absent: 'none',
  },
  addBos: {
    ...rules.flag,
    about: 'put the beginning-of-sequence token first',
    absent: 'addBos of the tokenizer',
  },
  addEos: { ...rules.flag, about: 'put the end-of-sequence token last', absent: 'addEos of the tokenizer' },
} as const satisfies Schema<EncodeOptions>;

export const encodeInTurnsSchema = {
  ...encodeSchema,
  limit: { ...rules.whole(0), about: 'ends where there are more ids than this', absent: 'none' },
} as const satisfies Schema<EncodeInTurnsOptions>;

export const decodeSchema = {
  special: {
    ...rules.flag,
    about: 'show control tokens by their spelling instead of hiding them',
    byDefault: false,
  },
} as const satisfies Schema<DecodeOptions>;

export const tokenStreamSchema = {
  ...decodeSchema,
  continues: {
    ...rules.flag,
    about: 'the tokens go on from a text that is already there, so that a leading space is part of them',
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
