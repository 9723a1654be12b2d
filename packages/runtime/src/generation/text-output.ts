import { StopMatcher, type Tokenizer, TokenStream } from '../tokenizer/index.js';
import type { TokenSource } from '../tokenizer/token-source.js';

/** The tokens, some of whose control tokens are shown as text. */
function showing(tokens: Tokenizer, shown: ReadonlySet<number>): TokenSource {
  return {
    addSpacePrefix: tokens.addSpacePrefix,
    isControl: (id) => !shown.has(id) && tokens.isControl(id),
    tokenBytes: (id) => tokens.tokenBytes(id),
    ...(tokens.textSteps && { textSteps: (...how) => tokens.textSteps!(...how) }),
  };
}

/** The text of generated tokens, up to a stop string. Always empty for a model without a vocabulary. */
export class TextOutput {
  private readonly stream: TokenStream | undefined;
  private readonly matcher: StopMatcher;
  /** All text given out so far. */
  text = '';
  /** The stop string that ended the text. */
  stop: string | undefined;

  /** @param continues the tokens continue a text: keep the space of the first token @throws TokenizerError BAD_STOP */
  constructor(
    tokenizer: Tokenizer | undefined,
    options: {
      readonly stop: readonly string[];
      readonly special: boolean;
      readonly continues: boolean;
      readonly shown?: ReadonlySet<number> | undefined;
    },
  ) {
    const { stop, special, continues, shown } = options;
    const tokens = tokenizer && shown?.size ? showing(tokenizer, shown) : tokenizer;
    this.stream = tokens && new TokenStream(tokens, { special, continues });
    this.matcher = new StopMatcher(stop);
  }

  /** The text completed by a token; may be empty. */
  push(token: number): string {
    return this.stream ? this.match(this.stream.push(token)) : '';
  }

  /** The text held back as a possible start of a stop string. */
  flush(): string {
    if (this.stop !== undefined || !this.stream) return '';
    const text = this.match(this.stream.flush());
    return this.stop !== undefined ? text : text + this.give(this.matcher.flush());
  }

  private match(decoded: string): string {
    const { text, stopped } = this.matcher.push(decoded);
    this.stop = stopped;
    return this.give(text);
  }

  private give(text: string): string {
    this.text += text;
    return text;
  }
}
