import type { EncodedText, EncoderConfig } from '@quern/models';
import { RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** The encoder's input for a text. `truncated`: the text was cut off at the end. */
export interface FittedText extends EncodedText {
  readonly truncated: boolean;
}

/** Tokenises texts to at most the encoder's number of tokens. */
export interface TextEncoder {
  encode(text: string): Promise<FittedText>;
}

const bare = { addBos: false, addEos: false } as const;

/** Texts up to this many characters are tokenised in less than 1 ms. */
const shortText = 4096;

/** The tokens of a text; for a text longer than `room`, only its first tokens, at least room + 1. */
const firstTokens = async (tokenizer: Tokenizer, text: string, room: number): Promise<readonly number[]> =>
  text.length <= shortText
    ? tokenizer.encode(text, bare)
    : tokenizer.encodeInTurns(text, { ...bare, limit: room });

/** The tokens that the tokenizer adds before and after a text. */
function endsOf(tokenizer: Tokenizer): { start: readonly number[]; end: readonly number[] } {
  return {
    start: tokenizer.encode('', { addEos: false }),
    end: tokenizer.encode('', { addBos: false }),
  };
}

/** Single texts: start, text, end. A long text is cut off at its end. */
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
 * A query with each text, for cross-encoders. Separator: BERT has two segments and one end token; RoBERTa has one
 * segment and two end tokens. A long text is cut off at its end. Rejects with RuntimeError PROMPT_TOO_LONG where the
 * query leaves no room for a text.
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
      `the query has ${asked.length > maxTokens ? `more than ${maxTokens}` : asked.length} tokens: no room for a text within the model's ${maxTokens}`,
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
