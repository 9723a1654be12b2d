import { checkStream, needIds } from './options.js';
import type { DecodeOptions, Tokenizer } from './tokenizer.js';

/** What a stream needs of a tokenizer. */
export type TokenSource = Pick<Tokenizer, 'tokenBytes' | 'isControl' | 'addSpacePrefix'>;

export interface TokenStreamOptions extends DecodeOptions {
  /**
   * The tokens go on from a text that is already there, so that a leading space is part of them. Default false: the
   * first token's space is the one that `encode` added, if the tokenizer adds one, and is dropped.
   */
  continues?: boolean | undefined;
}

/**
 * Tokens to text, one by one. Characters come out whole: the bytes of an unfinished one wait for the next token, and
 * bytes that can no longer become a character come out as U+FFFD.
 */
export class TokenStream {
  private readonly utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  private dropsSpace: boolean;

  constructor(
    private readonly tokens: TokenSource,
    private readonly options: TokenStreamOptions = {},
  ) {
    checkStream(tokens, options);
    this.dropsSpace = tokens.addSpacePrefix && !options.continues;
  }

  /** The text that `id` completes, perhaps none. @throws TokenizerError BAD_TOKEN */
  push(id: number): string {
    if (this.tokens.isControl(id) && !this.options.special) return '';
    const bytes = this.tokens.tokenBytes(id);
    const start = this.dropsSpace && bytes[0] === 0x20 ? 1 : 0;
    this.dropsSpace = false;
    return this.utf8.decode(bytes.subarray(start), { stream: true });
  }

  /** The end of the text: U+FFFD if a character was left unfinished, otherwise nothing. */
  flush(): string {
    return this.utf8.decode();
  }
}

/** The text of a whole sequence, by the rules of `TokenStream`. @throws TokenizerError BAD_TOKEN */
export function decodeTokens(
  tokens: TokenSource,
  ids: Iterable<number>,
  options?: TokenStreamOptions,
): string {
  const stream = new TokenStream(tokens, options);
  needIds(ids);
  let text = '';
  for (const id of ids) text += stream.push(id);
  return text + stream.flush();
}
