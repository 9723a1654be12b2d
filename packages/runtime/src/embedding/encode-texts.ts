import type { EncodedText, EncoderConfig } from '@quern/models';
import type { Tokenizer } from '../tokenizer/index.js';
import { TextTooLongError } from './text-too-long.js';

/** The encoder's input for a text. `truncated`: the text was cut off at the end. */
export interface FittedText extends EncodedText {
  readonly truncated: boolean;
}

/** Most tokens of an input, and whether longer texts are cut off at the end. */
export interface TextLimit {
  readonly maxTokens: number;
  readonly truncate: boolean;
}

/** Tokenises texts to at most the encoder's number of tokens. */
export interface TextEncoder {
  /** Rejects with TextTooLongError where the text is too long and may not be cut off. */
  encode(text: string, index: number): Promise<FittedText>;
}

const bare = { addBos: false, addEos: false } as const;

/** Texts up to this many characters are tokenised in less than 1 ms. */
const shortText = 4096;

/** The error for a text that is too long counts up to this many tokens. */
const mostCounted = 100_000;

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

/** @param what the input and its verb: 'text 3 has' */
export function textTooLong(
  index: number,
  what: string,
  tokens: number,
  maxTokens: number,
): TextTooLongError {
  const counted = tokens > mostCounted ? `more than ${mostCounted}` : tokens;
  return new TextTooLongError(
    index,
    tokens,
    maxTokens,
    `${what} ${counted} tokens; the limit is ${maxTokens}: shorten the text or split it; \`truncate\` cuts the end off (--truncate on the command line)`,
  );
}

/** Single texts: start, text, end. */
export const singleTexts = (tokenizer: Tokenizer, prefix: string, limit: TextLimit): TextEncoder =>
  textsBetween(tokenizer, endsOf(tokenizer), prefix, limit, (index) => `text ${index} has`);

/**
 * Texts between the same tokens.
 * @param prefix written before every text
 * @param what the input and its verb, for messages
 */
function textsBetween(
  tokenizer: Tokenizer,
  { start, end }: ReturnType<typeof endsOf>,
  prefix: string,
  { maxTokens, truncate }: TextLimit,
  what: (index: number) => string,
): TextEncoder {
  const room = Math.max(0, maxTokens - start.length - end.length);
  return {
    async encode(text, index) {
      const ids = await firstTokens(tokenizer, prefix + text, room);
      if (ids.length > room && !truncate) {
        const all = await firstTokens(tokenizer, prefix + text, mostCounted);
        throw textTooLong(index, what(index), start.length + all.length + end.length, maxTokens);
      }
      return { ids: [...start, ...ids.slice(0, room), ...end], truncated: ids.length > room };
    },
  };
}

/** The parts of a prompt that ranks: control tokens and plain text before the text, then the rest. */
function partsOf(template: string, query: string) {
  const [before = '', after = ''] = template.split('{document}');
  const control = before.lastIndexOf('|>') + 2; // the end of the last control token; 1: there is none
  const head = control > 1 ? before.slice(0, control) : '';
  return { head, lead: before.slice(head.length).replace('{query}', () => query), tail: after };
}

/**
 * A query with each text in the prompt of a decoder that ranks. Neither can spell a control token. Rejects with
 * TextTooLongError where the query leaves no room for a text.
 * @param template with {query} and {document}
 */
export async function promptedTexts(
  tokenizer: Tokenizer,
  query: string,
  template: string,
  limit: TextLimit,
): Promise<TextEncoder> {
  const { head, lead, tail } = partsOf(template, query);
  const controls = (text: string) => tokenizer.encode(text, { ...bare, special: 'parse' });
  const ends = { start: controls(head), end: controls(tail) };
  const asked = await firstTokens(tokenizer, lead, limit.maxTokens);
  if (ends.start.length + asked.length + ends.end.length >= limit.maxTokens)
    throw await queryTooLong(tokenizer, query, limit.maxTokens);
  return textsBetween(tokenizer, ends, lead, limit, (index) => `the query and text ${index} have`);
}

/**
 * A query with each text, for cross-encoders. Separator: BERT has two segments and one end token; RoBERTa has one
 * segment and two end tokens. Rejects with TextTooLongError where the query leaves no room for a text.
 */
export async function pairedTexts(
  tokenizer: Tokenizer,
  query: string,
  config: EncoderConfig,
  { maxTokens, truncate }: TextLimit,
): Promise<TextEncoder> {
  const { start, end } = endsOf(tokenizer);
  const asked = await firstTokens(tokenizer, query, maxTokens);
  const between = config.segments > 1 ? end : [...end, ...end];
  const first = [...start, ...asked, ...between];
  const room = maxTokens - first.length - end.length;
  if (room < 1) throw await queryTooLong(tokenizer, query, maxTokens);
  return {
    async encode(text, index) {
      const ids = await firstTokens(tokenizer, text, room);
      if (ids.length > room && !truncate) {
        const all = await firstTokens(tokenizer, text, mostCounted);
        const tokens = first.length + all.length + end.length;
        throw textTooLong(index, `the query and text ${index} have`, tokens, maxTokens);
      }
      return {
        ids: [...first, ...ids.slice(0, room), ...end],
        truncated: ids.length > room,
        ...(config.segments > 1 && { secondPart: first.length }),
      };
    },
  };
}

/** The query is never cut off. */
async function queryTooLong(
  tokenizer: Tokenizer,
  query: string,
  maxTokens: number,
): Promise<TextTooLongError> {
  const { length } = await firstTokens(tokenizer, query, mostCounted);
  const counted = length > mostCounted ? `more than ${mostCounted}` : length;
  return new TextTooLongError(
    undefined,
    length,
    maxTokens,
    `the query has ${counted} tokens: no room for a text within the model's ${maxTokens}`,
  );
}
