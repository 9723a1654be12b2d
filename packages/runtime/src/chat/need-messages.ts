import { checkArgument, nearestName, type Refuse, type Rule, rules } from '@quern/core';
import type { ChatMessage, ContentPart } from './message.js';

type Fields = Readonly<Record<string, unknown>>;

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

/** Fields that a message may not have under a similar name alone. Templates know others: all are theirs to read. */
const fields = ['content', 'tool_calls', 'tool_call_id', 'reasoning_content'] as const;

/**
 * @param roles those that messages may have; absent: any
 * @throws the error of `refuse` where `value` is no list of messages
 */
export function needMessages(
  where: string,
  value: unknown,
  refuse: Refuse,
  roles?: readonly string[],
): asserts value is readonly ChatMessage[] {
  checkArgument(where, 'messages', value, messages, refuse);
  for (const [index, each] of value.entries()) {
    checkArgument(where, `messages[${index}]`, each, message, refuse);
    const fault = fieldFault({ ...each }) ?? (roles && roleFault(each, roles));
    if (fault !== undefined) throw refuse(`[${where}] messages[${index}] ${fault}`, 'messages');
  }
}

function fieldFault(given: Fields): string | undefined {
  for (const name of Object.keys(given)) {
    const meant = Object.hasOwn(knownFields, name) ? undefined : nearestName(name, fields);
    if (meant !== undefined && given[meant] === undefined) return `has '${name}': did you mean '${meant}'?`;
  }
  const { content, tool_calls, reasoning_content } = given;
  const isEmpty = [content, tool_calls, reasoning_content].every((field) => field === undefined);
  return isEmpty ? "has no content: give a string, or null beside 'tool_calls'" : undefined;
}

const knownFields = { ...Object.fromEntries(fields.map((name) => [name, true])), role: true, name: true };

function roleFault({ role }: ChatMessage, roles: readonly string[]): string | undefined {
  if (roles.includes(role)) return undefined;
  const nearest = nearestName(role, roles);
  const advice = nearest
    ? `did you mean '${nearest}'?`
    : 'a role that the model was trained with, but that its template does not name, belongs into the option `roles`';
  const known = roles.map((each) => `'${each}'`).join(', ');
  return `has the role '${role}'; the chat template of this model knows ${known}: ${advice}`;
}
