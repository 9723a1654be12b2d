import { RuntimeError } from '../error.js';

/** PROMPT_TOO_LONG of `embed` and `rerank`: a text has more tokens than the model reads. */
export class TextTooLongError extends RuntimeError {
  static override readonly className: string = 'TextTooLongError';

  constructor(
    /** Index of the text; undefined: the query of `rerank`. */
    readonly index: number | undefined,
    /** Tokens of the input, start and end tokens included; for `rerank` those of query and text. */
    readonly tokens: number,
    /** Most tokens that the model reads. */
    readonly maxTokens: number,
    message: string,
  ) {
    super('PROMPT_TOO_LONG', message);
  }
}
