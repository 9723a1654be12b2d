import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of errors about vocabularies, tokens and text. */
export type TokenizerErrorCode =
  | 'UNKNOWN_TOKENIZER' // the file names an unsupported kind of tokenizer, or part of one
  | 'UNKNOWN_PRETOKENIZER' // the file names an unsupported pre-tokenizer
  | 'BAD_VOCABULARY' // the vocabulary is missing, incomplete or contradictory
  | 'BAD_TOKEN' // a token id outside the vocabulary
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_OPTION' // an option of a wrong type, or unknown
  | 'SLOW_PATTERN' // a regular expression of the file takes too long on a text
  | 'BAD_STOP'; // an empty stop string

/** Thrown while a tokenizer is loaded, and by its methods. */
export class TokenizerError extends QuernError<TokenizerErrorCode> {
  static override readonly className: string = 'TokenizerError';
}

export const badVocabulary = (message: string): TokenizerError =>
  new TokenizerError('BAD_VOCABULARY', message);

/** The error for a bad option. */
export const badOption: Refuse = (message) => new TokenizerError('BAD_OPTION', message);

/** The error for any other bad argument. */
export const badArgument: Refuse = (message) => new TokenizerError('BAD_ARGUMENT', message);
