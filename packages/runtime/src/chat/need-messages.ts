import { checkArgument, type Refuse, type Rule, rules } from '@quern/core';
import type { ChatMessage, ContentPart } from './message.js';

const isPart = (value: unknown): value is ContentPart =>
  rules.isObject(value) && typeof value.type === 'string';

const isContent = (content: unknown): boolean =>
  content === undefined ||
  content === null ||
  typeof content === 'string' ||
  (Array.isArray(content) ? content.every(isPart) : rules.isObject(content)); // tool results may be objects

const message: Rule<ChatMessage> = {
  must: 'an object with a role, whose content is a string, null, an object, or a list of parts, each with a type',
  holds: (value): value is ChatMessage =>
    rules.isObject(value) && typeof value.role === 'string' && isContent(value.content),
};

const messages: Rule<readonly unknown[]> = {
  must: "a list of messages: [{ role: 'user', content: 'Hello!' }]",
  holds: (value): value is readonly unknown[] => Array.isArray(value),
};

/** @throws the error of `refuse` where `value` is no list of messages */
export function needMessages(
  where: string,
  value: unknown,
  refuse: Refuse,
): asserts value is readonly ChatMessage[] {
  checkArgument(where, 'messages', value, messages, refuse);
  for (const [index, each] of value.entries())
    checkArgument(where, `messages[${index}]`, each, message, refuse);
}
