import type { EncodedText, EncoderConfig } from '@quern/models';
import { RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** A text as the encoder takes it, and whether its end was cut off to fit. */
export interface FittedText extends EncodedText {
  readonly truncated: boolean;
}

/** Turns texts into token ids of at most as many as the encoder takes. */
export interface TextEncoder {
  encode(text: string): FittedText;
}

const bare = { addBos: false, addEos: false } as const;

/** What the tokenizer puts before and after a text. */
function endsOf(tokenizer: Tokenizer): { start: readonly number[]; end: readonly number[] } {
  return {
    start: tokenizer.encode('', { addEos: false }),
    end: tokenizer.encode('', { addBos: false }),
  };
}

/** Single texts: start, text, end. What does not fit is cut off before the end. */
export function singleTexts(tokenizer: Tokenizer, prefix: string, maxTokens: number): TextEncoder {
  const { start, end } = endsOf(tokenizer);
  const room = Math.max(0, maxTokens - start.length - end.length);
  return {
    encode(text) {
      const ids = tokenizer.encode(prefix + text, bare);
      return { ids: [...start, ...ids.slice(0, room), ...end], truncated: ids.length > room };
    },
  };
}

/**
 * A query with each text, as cross-encoders take them. BERT tells the parts apart by their segments; RoBERTa, which has one
 * segment, by two end tokens between them. What does not fit is cut off the text.
 * @throws RuntimeError PROMPT_TOO_LONG where the query leaves no room for a text
 */
export function pairedTexts(
  tokenizer: Tokenizer,
  query: string,
  config: EncoderConfig,
  maxTokens: number,
): TextEncoder {
  const { start, end } = endsOf(tokenizer);
  const asked = tokenizer.encode(query, bare);
  const between = config.segments > 1 ? end : [...end, ...end];
  const first = [...start, ...asked, ...between];
  const room = maxTokens - first.length - end.length;
  if (room < 1)
    throw new RuntimeError(
      'PROMPT_TOO_LONG',
      `the query has ${asked.length} tokens, which leaves no room for a text in the ${maxTokens} that the model takes`,
    );
  return {
    encode(text) {
      const ids = tokenizer.encode(text, bare);
      return {
        ids: [...first, ...ids.slice(0, room), ...end],
        truncated: ids.length > room,
        ...(config.segments > 1 && { secondPart: first.length }),
      };
    },
  };
}
