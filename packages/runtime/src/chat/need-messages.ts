import { checkArgument, type Refuse, type Rule, rules } from '@quern/core';
import type { ChatMessage } from './message.js';

const message: Rule<ChatMessage> = {
  must: 'an object with a role',
  holds: (value): value is ChatMessage => rules.isObject(value) && typeof value.role === 'string',
};

const messages: Rule<readonly unknown[]> = {
  must: "a list of messages: [{ role: 'user', content: 'Hello!' }]",
  holds: (value): value is readonly unknown[] => Array.isArray(value),
};

/** @throws what `refuse` makes where `value` is no list of messages */
export function needMessages(
  where: string,
  value: unknown,
  refuse: Refuse,
): asserts value is readonly ChatMessage[] {
  checkArgument(where, 'messages', value, messages, refuse);
  for (const [index, each] of value.entries())
    checkArgument(where, `messages[${index}]`, each, message, refuse);
}
