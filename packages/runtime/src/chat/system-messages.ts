import type { Capabilities } from './capabilities.js';
import { joined } from './content.js';
import type { ChatMessage } from './message.js';

const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';

/**
 * Messages whose system messages the template renders where they are. Where it does not, the first of them has the texts
 * of all, in their order.
 */
export function placedSystem(
  messages: readonly ChatMessage[],
  can: Capabilities,
  onMerge: () => void,
): readonly ChatMessage[] {
  const first = messages.findIndex((message) => !isSystem(message));
  const leading = first < 0 ? messages.length : first;
  const later = messages.slice(leading).filter(isSystem);
  const fits =
    (leading <= 1 || can.takesSystem('several')) && (later.length === 0 || can.takesSystem('later'));
  if (fits) return messages;
  onMerge();
  const all = messages.filter(isSystem);
  const content = all
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
  return [{ ...all[0]!, content }, ...messages.filter((message) => !isSystem(message))];
}

const textOf = (message: ChatMessage): string => {
  const { content, role } = message;
  return Array.isArray(content) ? joined(content, role, 0) : String(content ?? '');
};

/** What a notice says where messages were merged. */
export const mergedSystem =
  'the chat template of this model takes one system message, the first: later ones are added to it';
