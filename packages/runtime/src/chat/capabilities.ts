import { ChatTemplateError } from './error.js';
import type { ChatMessage } from './message.js';
import type { RenderOptions } from './render-options.js';

const PROBE = 'quernprobe';
const question: ChatMessage = { role: 'user', content: 'question' };
const callOf = (name: string) => ({
  id: 'probe1234',
  type: 'function',
  function: { name, arguments: { city: 'Linz' } },
});
const probeTool = {
  type: 'function',
  function: { name: PROBE, description: '', parameters: { type: 'object', properties: {}, required: [] } },
};

/** A chat that allows a message of `role`. */
function chatWith(role: string, content: ChatMessage['content']): ChatMessage[] {
  const message: ChatMessage = { role, content: content ?? null };
  if (role === 'user') return [message];
  if (role === 'assistant') return [question, message, question];
  if (role !== 'tool') return [message, question];
  const call: ChatMessage = { role: 'assistant', content: '', tool_calls: [callOf('f')] };
  return [question, call, { ...message, name: 'f', tool_call_id: 'probe1234' }];
}

/** A template's capabilities, found by rendering small chats on first use. */
export class Capabilities {
  private readonly known = new Map<string, boolean>();

  constructor(private readonly write: (messages: readonly ChatMessage[], options: RenderOptions) => string) {}

  /**
   * Whether messages of `role` may have a list of parts: the template must write the text of a part, not the list
   * itself.
   */
  takesParts(role: string): boolean {
    return this.once(`parts ${role}`, () => {
      const written = this.attempt(chatWith(role, [{ type: 'text', text: PROBE }]));
      return written?.includes(PROBE) === true && !/["']text["']: ?["']quernprobe/.test(written);
    });
  }

  /** Whether `content: null` beside tool calls is rendered as nothing. */
  takesNull(): boolean {
    return this.once('null', () => {
      const call = (content: string | null) =>
        this.attempt([question, { role: 'assistant', content, tool_calls: [callOf(PROBE)] }]);
      const [none, empty] = [call(null), call('')];
      if (!none?.includes(PROBE)) return false;
      return !empty?.includes(PROBE) || count(none, 'None') <= count(empty, 'None');
    });
  }

  /** Whether messages of this role are rendered. */
  takesRole(role: string): boolean {
    return this.once(`role ${role}`, () => this.attempt(chatWith(role, PROBE))?.includes(PROBE) === true);
  }

  /** Whether system messages are rendered beside a first one: several before the chat, or later in it. */
  takesSystem(where: 'several' | 'later'): boolean {
    return this.once(`system ${where}`, () => {
      const first: ChatMessage = { role: 'system', content: 'first' };
      const between = where === 'several' ? [] : [question, { role: 'assistant', content: 'answer' }];
      const chat = [first, ...between, { role: 'system', content: PROBE }, question];
      return this.attempt(chat)?.includes(PROBE) === true;
    });
  }

  takesTools(): boolean {
    return this.once(
      'tools',
      () => this.attempt([question], { tools: [probeTool] })?.includes(PROBE) === true,
    );
  }

  private once(what: string, find: () => boolean): boolean {
    const found = this.known.get(what) ?? find();
    this.known.set(what, found);
    return found;
  }

  /** Undefined where the template refuses or fails. */
  private attempt(messages: readonly ChatMessage[], options: RenderOptions = {}): string | undefined {
    try {
      return this.write(messages, options);
    } catch (error) {
      if (error instanceof ChatTemplateError) return undefined;
      throw error;
    }
  }
}

const count = (text: string, part: string): number => text.split(part).length - 1;
