import type { Capabilities } from './capabilities.js';
import { ChatTemplateError } from './error.js';
import type { ChatMessage } from './message.js';
import type { RenderOptions } from './render-options.js';

type Write = (messages: readonly ChatMessage[], options: RenderOptions) => string;

/**
 * Throws where the prompt contains no trace of the tools, or of the messages of a role such as 'system': the model would
 * never see them. Where the small chats of `Capabilities` do not show that the template renders them, this chat is
 * rendered again without them.
 *
 * @throws ChatTemplateError IGNORED
 */
export function needNothingIgnored(
  messages: readonly ChatMessage[],
  options: RenderOptions,
  written: string,
  write: Write,
  can: Capabilities,
): void {
  if (options.tools?.length && !can.takesTools() && write(messages, withoutTools(options)) === written)
    throw ignored('tools', 'describe them in a message, or choose a template that lists them');
  for (const role of new Set(messages.filter(hasText).map((message) => message.role))) {
    if (always.includes(role) || can.takesRole(role)) continue;
    const others = messages.filter((message) => message.role !== role || !hasText(message));
    if (others.length === 0 || attempt(() => write(others, options)) === written)
      throw ignored(`${role} messages`, 'say it in a message of the user, or choose another template');
  }
}

/** Roles that every template renders. */
const always = ['user', 'assistant'];

function withoutTools({ tools, ...others }: RenderOptions): RenderOptions {
  return others;
}

const hasText = ({ content }: ChatMessage): boolean => Boolean(content?.length);

/** Undefined where the template refuses the remaining chat: then the system message has an effect. */
function attempt(write: () => string): string | undefined {
  try {
    return write();
  } catch (error) {
    if (error instanceof ChatTemplateError) return undefined;
    throw error;
  }
}

const ignored = (what: string, advice: string): ChatTemplateError =>
  new ChatTemplateError(
    'IGNORED',
    `the chat template of this model ignores ${what}, so the model would never see them: ${advice}`,
  );
