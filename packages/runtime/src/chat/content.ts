import type { Capabilities } from './capabilities.js';
import { ChatTemplateError } from './error.js';
import type { ChatMessage, ContentPart } from './message.js';

/**
 * Messages with contents that the template supports. Where the template supports no lists, the text parts become one
 * string, one line per part. `null` becomes '' where the template would fail or write "None".
 *
 *
 * @throws ChatTemplateError UNSUPPORTED_CONTENT
 */
export const adaptMessages = (messages: readonly ChatMessage[], can: Capabilities): ChatMessage[] =>
  messages.map((message, index) => {
    const { content, role } = message;
    if (isParts(content))
      return can.takesParts(role) ? message : { ...message, content: joined(content, role, index) };
    if (content !== null && content !== undefined) return message;
    if (message.tool_calls) return { ...message, content: can.takesNull() ? null : '' };
    return content === null ? { ...message, content: '' } : message;
  });

const isParts = (content: ChatMessage['content']): content is readonly ContentPart[] =>
  Array.isArray(content);

/** The text of parts, one line each. @throws ChatTemplateError UNSUPPORTED_CONTENT */
export function joined(parts: readonly ContentPart[], role: string, index: number): string {
  const other = parts.find(({ type, text }) => type !== 'text' || typeof text !== 'string');
  if (other) throw unsupported(other.type, `messages of role "${role}"`, `message ${index}`);
  return parts.map(({ text }) => text).join('\n');
}

const unsupported = (type: string, place: string, where: string): ChatTemplateError =>
  new ChatTemplateError(
    'UNSUPPORTED_CONTENT',
    `${where} has a content part of type "${type}", and the chat template of this model writes none in ${place}: give parts of type "text" only`,
  );

/**
 * Checks that the template renders the non-text parts: without the parts of one type, the rendered chat must differ.
 * @throws ChatTemplateError UNSUPPORTED_CONTENT
 */
export function needParts(
  messages: readonly ChatMessage[],
  written: string,
  write: (messages: readonly ChatMessage[]) => string,
): void {
  const types = new Set(
    messages.flatMap(({ content }) => (isParts(content) ? content.map(({ type }) => type) : [])),
  );
  types.delete('text');
  for (const type of types) {
    const without = messages.map((message) => withoutParts(message, type));
    if (write(without) !== written) continue;
    const index = messages.findIndex(
      ({ content }) => isParts(content) && content.some((part) => part.type === type),
    );
    throw unsupported(type, 'this chat', `message ${index}`);
  }
}

function withoutParts(message: ChatMessage, type: string): ChatMessage {
  const { content } = message;
  return isParts(content) ? { ...message, content: content.filter((part) => part.type !== type) } : message;
}
