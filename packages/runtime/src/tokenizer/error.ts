import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of errors about vocabularies, tokens and text. */
export type TokenizerErrorCode =
  | 'UNKNOWN_TOKENIZER' // the file names a kind of tokenizer, or a part of one, that is not built in
  | 'UNKNOWN_PRETOKENIZER' // the file names a way of splitting text that is not built in
  | 'BAD_VOCABULARY' // the vocabulary is missing, incomplete or contradicts itself
  | 'BAD_TOKEN' // a token id outside the vocabulary
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_OPTION' // an option of a wrong type, or unknown
  | 'SLOW_PATTERN' // a regular expression of the file takes too long for a text
  | 'BAD_STOP'; // a stop string that can never be a stop string

/** Thrown while a tokenizer is loaded, and by its methods. */
export class TokenizerError extends QuernError<TokenizerErrorCode> {
  static override readonly className: string = 'TokenizerError';
}

export const badVocabulary = (message: string): TokenizerError =>
  new TokenizerError('BAD_VOCABULARY', message);

/** Refuses an option. */
export const badOption: Refuse = (message) => new TokenizerError('BAD_OPTION', message);

/** Refuses any other argument. */
export const badArgument: Refuse = (message) => new TokenizerError('BAD_ARGUMENT', message);
