import { checkArgument, pickOptions, type Rule } from '@quern/core';
import type { ChatMessage, ChatTemplate, RenderOptions } from '../chat/index.js';
import { badArgument, RuntimeError } from '../error.js';
import type { Prompt } from '../generation/generation-source.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** What checking a prompt takes. */
export interface PromptRules {
  readonly tokenizer: Tokenizer | undefined;
  /** V */
  readonly vocabulary: number;
  readonly context: number;
}

/** @throws RuntimeError NO_TOKENIZER */
export function needTokenizer(tokenizer: Tokenizer | undefined): Tokenizer {
  if (tokenizer) return tokenizer;
  throw new RuntimeError(
    'NO_TOKENIZER',
    'the model came without a vocabulary: give token ids instead of text',
  );
}

const promptRule: Rule<string | readonly number[]> = {
  must: 'a string, or a list of token ids',
  holds: (value): value is string | readonly number[] => typeof value === 'string' || isIdList(value),
};

/** Typed arrays serve as well. */
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
 * A text, or token ids as they are. The generated text goes on from the prompt's if that has any.
 * @throws RuntimeError NO_TOKENIZER, EMPTY_PROMPT, BAD_TOKEN, PROMPT_TOO_LONG
 */
export function textPrompt(prompt: string | readonly number[], special: boolean, rules: PromptRules): Prompt {
  checkArgument('generate', 'prompt', prompt, promptRule, badArgument);
  const { tokenizer } = rules;
  const ids =
    typeof prompt === 'string'
      ? needTokenizer(tokenizer).encode(prompt, { special: special ? 'parse' : 'text', addEos: false })
      : [...prompt];
  needTokens(ids, rules);
  needRoom(ids, rules.context);
  return {
    ids,
    continues: !!tokenizer && ids.some((id) => id < tokenizer.vocabSize && !tokenizer.isControl(id)),
  };
}

/**
 * The messages of a chat, up to where the answer begins.
 * @throws RuntimeError NO_TOKENIZER, EMPTY_PROMPT, PROMPT_TOO_LONG; ChatTemplateError
 */
export function chatPrompt(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: RenderOptions,
  rules: PromptRules,
): Prompt {
  const tokenizer = needTokenizer(rules.tokenizer);
  const text = template.render(messages, pickOptions(options, ['tools', 'extra', 'now']));
  const bos = tokenizer.bos === undefined ? '' : tokenizer.tokenText(tokenizer.bos);
  const beginsItself = bos !== '' && text.startsWith(bos);
  const ids = tokenizer.encode(text, {
    special: 'parse',
    addEos: false,
    ...(beginsItself && { addBos: false }),
  });
  needTokens(ids, rules);
  needRoom(ids, rules.context);
  return { ids, continues: false };
}

/** @throws RuntimeError EMPTY_PROMPT, BAD_TOKEN */
export function needTokens(ids: readonly number[], { vocabulary }: PromptRules): void {
  if (ids.length === 0)
    throw new RuntimeError(
      'EMPTY_PROMPT',
      'the prompt has no tokens, and this vocabulary begins a text with none: give at least one',
    );
  const index = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < vocabulary));
  if (index >= 0)
    throw new RuntimeError(
      'BAD_TOKEN',
      `token ${index} of the prompt is ${ids[index]}; the vocabulary has ids 0 to ${vocabulary - 1}`,
    );
}

function needRoom(ids: readonly number[], context: number): void {
  if (ids.length < context) return;
  throw new RuntimeError(
    'PROMPT_TOO_LONG',
    `the prompt has ${ids.length} tokens, which leaves no room in the context of ${context}: shorten it, or load the model with a larger context`,
  );
}
