/** Stable codes of this package's errors. */
export type GrammarErrorCode =
  | 'UNSUPPORTED' // a keyword, format or construct that cannot be enforced while generating
  | 'INVALID' // the schema, regular expression or grammar itself is malformed
  | 'UNSATISFIABLE' // no text fits
  | 'TOO_COMPLEX' // a bound on size or work is exceeded
  | 'BAD_REFERENCE' // a $ref or a rule without target
  | 'BAD_TOKEN' // accept() of a token that the mask excludes, or outside the vocabulary
  | 'BAD_ARGUMENT'; // a buffer too small, a rollback beyond the start

/** Thrown by all functions of the package. `where`: a JSON pointer, an offset in the source, or a token. */
export class GrammarError extends Error {
  override readonly name = 'GrammarError';

  constructor(
    readonly code: GrammarErrorCode,
    readonly where: string,
    detail: string,
  ) {
    super(where === '' ? detail : `${where}: ${detail}`);
  }
}
