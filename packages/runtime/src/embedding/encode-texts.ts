import type { EncodedText, EncoderConfig } from '@quern/models';
import { RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** A text as the encoder takes it, and whether its end was cut off to fit. */
export interface FittedText extends EncodedText {
  readonly truncated: boolean;
}

/** Turns texts into token ids of at most as many as the encoder takes. */
export interface TextEncoder {
  encode(text: string): Promise<FittedText>;
}

const bare = { addBos: false, addEos: false } as const;

/** Texts up to this length take less than a millisecond. */
const shortText = 4096;

/** The tokens of a text, or if there are more than `room`, at least one more than that: the rest is not looked at. */
const firstTokens = async (tokenizer: Tokenizer, text: string, room: number): Promise<readonly number[]> =>
  text.length <= shortText
    ? tokenizer.encode(text, bare)
    : tokenizer.encodeInTurns(text, { ...bare, limit: room });

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
    async encode(text) {
      const ids = await firstTokens(tokenizer, prefix + text, room);
      return { ids: [...start, ...ids.slice(0, room), ...end], truncated: ids.length > room };
    },
  };
}

/**
 * A query with each text, as cross-encoders take them. BERT tells the parts apart by their segments; RoBERTa, which has one
 * segment, by two end tokens between them. What does not fit is cut off the text.
 * Rejects with RuntimeError PROMPT_TOO_LONG where the query leaves no room for a text.
 */
export async function pairedTexts(
  tokenizer: Tokenizer,
  query: string,
  config: EncoderConfig,
  maxTokens: number,
): Promise<TextEncoder> {
  const { start, end } = endsOf(tokenizer);
  const asked = await firstTokens(tokenizer, query, maxTokens);
  const between = config.segments > 1 ? end : [...end, ...end];
  const first = [...start, ...asked, ...between];
  const room = maxTokens - first.length - end.length;
  if (room < 1)
    throw new RuntimeError(
      'PROMPT_TOO_LONG',
      `the query has ${asked.length > maxTokens ? `more than ${maxTokens}` : asked.length} tokens, which leaves no room for a text in the ${maxTokens} that the model takes`,
    );
  return {
    async encode(text) {
      const ids = await firstTokens(tokenizer, text, room);
      return {
        ids: [...first, ...ids.slice(0, room), ...end],
        truncated: ids.length > room,
        ...(config.segments > 1 && { secondPart: first.length }),
      };
    },
  };
}
