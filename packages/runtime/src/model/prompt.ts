import { checkArgument, pickOptions, type Rule, yieldToEventLoop } from '@quern/core';
import { encodeChatSchema, renderSchema } from '../chat/chat-template.js';
import type { ChatMessage, ChatTemplate, EncodeChatOptions, RenderOptions } from '../chat/index.js';
import { badArgument, RuntimeError } from '../error.js';
import type { Prompt } from '../generation/generation-source.js';
import { type ToolOptions, toolSchema } from '../generation/tool-options.js';
import type { EncodeOptions, Tokenizer } from '../tokenizer/index.js';

/** Input of the prompt checks. */
export interface PromptRules {
  readonly tokenizer: Tokenizer | undefined;
  /** V */
  readonly vocabulary: number;
  readonly context: number;
}

/** @throws RuntimeError NO_TOKENIZER */
export function needTokenizer(tokenizer: Tokenizer | undefined): Tokenizer {
  if (tokenizer) return tokenizer;
  throw new RuntimeError('NO_TOKENIZER', 'the model has no vocabulary: give token ids instead of text');
}

const promptRule: Rule<string | readonly number[]> = {
  must: 'a string, or a list of token ids',
  holds: (value): value is string | readonly number[] => typeof value === 'string' || isIdList(value),
};

/** @throws RuntimeError BAD_ARGUMENT */
export const needPrompt = (prompt: unknown): void =>
  checkArgument('generate', 'prompt', prompt, promptRule, badArgument);

/** An array or an Int32Array. */
const isIdList = (value: unknown): boolean => Array.isArray(value) || value instanceof Int32Array;

/** @throws RuntimeError BAD_ARGUMENT */
export const needIdList = (where: string, value: unknown): void =>
  checkArgument(
    where,
    'ids',
    value,
    { must: 'a list of token ids', holds: (ids): ids is never => isIdList(ids) },
    badArgument,
  );

/**
 * A prompt from a text or token ids. `continues`: the prompt has a token of text.
 * @throws RuntimeError NO_TOKENIZER, EMPTY_PROMPT, BAD_TOKEN, PROMPT_TOO_LONG
 */
export async function textPrompt(
  prompt: string | readonly number[],
  special: boolean,
  rules: PromptRules,
): Promise<Prompt> {
  const { tokenizer } = rules;
  const ids =
    typeof prompt === 'string'
      ? await encodePrompt(prompt, { special: special ? 'parse' : 'text' }, rules)
      : [...prompt];
  needTokens(ids, rules);
  needRoom(ids.length, rules.context);
  return {
    ids,
    continues: !!tokenizer && ids.some((id) => id < tokenizer.vocabSize && !tokenizer.isControl(id)),
  };
}

export type ChatTokensOptions = Omit<EncodeChatOptions, 'tools'> & Pick<ToolOptions, 'tools'>;
export type ChatTextOptions = Omit<RenderOptions, 'tools'> & Pick<ToolOptions, 'tools'>;

export const chatTokensSchema = { ...encodeChatSchema, tools: toolSchema.tools };
export const chatTextSchema = { ...renderSchema, tools: toolSchema.tools };

const chatEncodeNames = [
  'addGenerationPrompt',
  'tools',
  'extra',
  'now',
  'roles',
  'specialContent',
  'answerStart',
  'onNotice',
] as const;

/**
 * A prompt from chat messages, with its text; it ends where the answer begins, or with `answerStart`.
 * @throws RuntimeError NO_TOKENIZER, EMPTY_PROMPT, PROMPT_TOO_LONG; ChatTemplateError
 */
export async function chatPrompt(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: EncodeChatOptions,
  rules: PromptRules,
): Promise<Prompt & { readonly text: string }> {
  const tokenizer = needTokenizer(rules.tokenizer);
  const needRoomFor = (rendered: string) =>
    needRoom(fewestTokens(rendered, {}, tokenizer), rules.context, 'at least ');
  const chosen = pickOptions(options, chatEncodeNames);
  const { text, encoding } = template.prompt(messages, tokenizer, chosen, needRoomFor);
  await yieldToEventLoop(); // a template is run in one go
  const ids = await encodePrompt(text, encoding, rules);
  needTokens(ids, rules);
  needRoom(ids.length, rules.context);
  return { ids, continues: Boolean(options.answerStart), text };
}

/** @throws RuntimeError EMPTY_PROMPT, BAD_TOKEN */
export function needTokens(ids: readonly number[], { vocabulary }: PromptRules): void {
  if (ids.length === 0)
    throw new RuntimeError(
      'EMPTY_PROMPT',
      'the prompt has no tokens, and the tokenizer adds none: give at least one',
    );
  const index = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < vocabulary));
  if (index >= 0)
    throw new RuntimeError(
      'BAD_TOKEN',
      `token ${index} of the prompt is ${ids[index]}; the vocabulary has ids 0 to ${vocabulary - 1}`,
    );
}

/** The tokens of a text. Stops early where the text cannot fit the context. Yields to the event loop. */
async function encodePrompt(text: string, options: EncodeOptions, rules: PromptRules): Promise<number[]> {
  const tokenizer = needTokenizer(rules.tokenizer);
  const { context } = rules;
  needRoom(fewestTokens(text, options, tokenizer), context, 'at least ');
  const ids = await tokenizer.encodeInTurns(text, { ...options, addEos: false, limit: context });
  if (ids.length > context) needRoom(ids.length, context, 'at least ');
  return ids;
}

function fewestTokens(text: string, { mark }: EncodeOptions, { longestToken }: Tokenizer): number {
  if (longestToken === undefined) return 0;
  const bytes = Buffer.byteLength(mark ? text.replaceAll(mark, '') : text);
  return Math.ceil(bytes / longestToken);
}

/** @throws RuntimeError PROMPT_TOO_LONG */
export function needRoom(tokens: number, context: number, bound = ''): void {
  if (tokens < context) return;
  throw new RuntimeError(
    'PROMPT_TOO_LONG',
    `the prompt has ${bound}${tokens} tokens, too many for the context of ${context}: shorten it, or load the model with a larger context (--ctx on the command line)`,
  );
}
