import type { ChatGeneration, ChatMessage, ChatPiece, Model, SpeculateOptions } from '@quern/runtime';
import { type AdapterFlags, adapterChoices } from '../adapters.js';
import { generateOptions, type SamplingFlags } from '../options.js';
import { isCoded, say } from '../terminal/report.js';
import { Thoughts } from '../terminal/thoughts.js';
import { write } from '../terminal/write.js';
import type { TemplateFlags } from './template.js';

export interface ConversationFlags extends SamplingFlags, TemplateFlags, AdapterFlags {
  readonly system?: string;
}

/** What was said, and what was answered. */
type Turn = readonly [user: ChatMessage, assistant: ChatMessage];

interface Begun {
  readonly generation: ChatGeneration;
  /** Those before it that fit. */
  readonly turns: readonly Turn[];
  readonly pieces: AsyncIterator<ChatPiece, void, void>;
  readonly first: IteratorResult<ChatPiece, void>;
}

const isTooLong = (error: unknown): boolean => isCoded(error) && error.code === 'PROMPT_TOO_LONG';

/** One conversation. The session keeps what it has read, so a turn costs only its new tokens. */
export class Conversation {
  private readonly session;
  private readonly opening: readonly ChatMessage[];
  private turns: readonly Turn[] = [];

  constructor(
    private readonly model: Model,
    private readonly flags: ConversationFlags,
    private readonly speculate?: SpeculateOptions,
  ) {
    this.session = model.session();
    this.opening = flags.system ? [{ role: 'system', content: flags.system }] : [];
  }

  reset(): void {
    this.turns = [];
  }

  /** Streams the answer to `line`. What had been said before an abort is kept. */
  async answer(line: string, signal: AbortSignal): Promise<void> {
    const user: ChatMessage = { role: 'user', content: line };
    const { generation, turns, pieces, first } = await this.begin(user, signal);
    this.sayForgotten(this.turns.length - turns.length);
    const thoughts = new Thoughts(this.flags.thinking !== false);
    for (let step = first; !step.done; step = await pieces.next()) {
      thoughts.show(step.value);
      await write(step.value.text);
    }
    thoughts.end();
    await write('\n');
    const { text, reason } = await generation.result;
    this.turns = [...turns, [user, { role: 'assistant', content: text }]];
    if (reason === 'context') say(`the answer ends: the context of ${this.model.context} tokens is full`);
  }

  dispose(): void {
    this.session.dispose();
  }

  /** Computes the prompt; drops the oldest turns if it does not fit. */
  private async begin(user: ChatMessage, signal: AbortSignal): Promise<Begun> {
    const { speculate } = this;
    const adapters = adapterChoices(this.flags);
    const options = {
      ...generateOptions(this.flags),
      ...(adapters && { adapters }),
      ...(speculate && { speculate }),
      signal,
    };
    for (let turns = this.turns; ; turns = turns.slice(1)) {
      const messages = [...this.opening, ...turns.flat(), user];
      const generation = this.session.chat(messages, options);
      const pieces = generation[Symbol.asyncIterator]();
      try {
        return { generation, turns, pieces, first: await pieces.next() };
      } catch (error) {
        if (turns.length === 0 || !isTooLong(error)) throw error;
      }
    }
  }

  private sayForgotten(count: number): void {
    if (count === 0) return;
    const what = count === 1 ? 'the oldest turn is' : `the ${count} oldest turns are`;
    say(
      `the conversation no longer fits in the context of ${this.model.context} tokens: ${what} forgotten (a larger --ctx helps)`,
    );
  }
}
