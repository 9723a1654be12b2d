import { checkStream, needIds } from './options.js';
import type { TextSteps } from './text-steps.js';
import type { TokenSource, TokenStreamOptions } from './token-source.js';
import type { DecodeOptions } from './tokenizer.js';

/**
 * Tokens to text, one at a time, in whole characters. Bytes of an incomplete character wait for the next token; bytes
 * that cannot become a character give U+FFFD.
 */
export class TokenStream {
  private readonly steps: TextSteps;

  constructor(
    private readonly tokens: TokenSource,
    private readonly options: TokenStreamOptions = {},
  ) {
    checkStream('TokenStream', tokens, options);
    this.steps = stepsOf(tokens, options, true);
  }

  /** The text completed by `id`; may be empty. @throws TokenizerError BAD_TOKEN */
  push(id: number): string {
    return isHidden(this.tokens, id, this.options) ? '' : this.steps.push(id);
  }

  /** Ends the text; returns the held text, with U+FFFD for an incomplete character. */
  flush(): string {
    return this.steps.flush();
  }
}

/** The text of a whole sequence. @throws TokenizerError BAD_TOKEN */
export function decodeTokens(
  tokens: TokenSource,
  ids: Iterable<number>,
  options: TokenStreamOptions = {},
): string {
  checkStream('decodeTokens', tokens, options);
  needIds(ids);
  const steps = stepsOf(tokens, options, false);
  let text = '';
  for (const id of ids) if (!isHidden(tokens, id, options)) text += steps.push(id);
  return text + steps.flush();
}

const isHidden = (tokens: TokenSource, id: number, { special }: DecodeOptions): boolean =>
  tokens.isControl(id) && !special;

const stepsOf = (
  tokens: TokenSource,
  { continues = false }: TokenStreamOptions,
  streams: boolean,
): TextSteps => tokens.textSteps?.(continues, streams) ?? byteSteps(tokens, continues);

/** A decoding that joins the bytes of the tokens. */
function byteSteps(tokens: TokenSource, continues: boolean): TextSteps {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  let dropsSpace = tokens.addSpacePrefix && !continues;
  return {
    push(id) {
      const bytes = tokens.tokenBytes(id);
      const start = dropsSpace && bytes[0] === 0x20 ? 1 : 0;
      dropsSpace = false;
      return utf8.decode(bytes.subarray(start), { stream: true });
    },
    flush: () => utf8.decode(),
  };
}
