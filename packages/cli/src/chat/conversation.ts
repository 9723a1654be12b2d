import type { ChatGeneration, ChatMessage, ChatPiece, Model, SpeculateOptions } from '@quern/runtime';
import { type AdapterFlags, adapterChoices } from '../adapters.js';
import { generateOptions, type SamplingFlags } from '../options.js';
import { progressBar } from '../terminal/progress.js';
import { isCoded, notice } from '../terminal/report.js';
import { Thoughts } from '../terminal/thoughts.js';
import { WordWrap } from '../terminal/word-wrap.js';
import { write } from '../terminal/write.js';
import { load, type Saved, save } from './saved.js';
import type { TemplateFlags } from './template.js';

export interface ConversationFlags extends SamplingFlags, TemplateFlags, AdapterFlags {
  readonly system?: string;
}

/** What was said, and what was answered. */
type Turn = Saved['turns'][number];

interface Begun {
  readonly generation: ChatGeneration;
  /** Those before it that fit. */
  readonly turns: readonly Turn[];
  readonly pieces: AsyncIterator<ChatPiece, void, void>;
  readonly first: IteratorResult<ChatPiece, void>;
}

/** Stands for what a user says after the system message. */
const anyUser: ChatMessage = { role: 'user', content: 'Hi' };

const isTooLong = (error: unknown): boolean => isCoded(error) && error.code === 'PROMPT_TOO_LONG';

/** One conversation. The session keeps what it has read, so a turn costs only its new tokens. */
export class Conversation {
  private systemText: string | undefined;
  private readonly session;
  private readonly bar = progressBar();
  private turns: readonly Turn[] = [];

  constructor(
    private readonly model: Model,
    private readonly flags: ConversationFlags,
    private readonly speculate?: SpeculateOptions,
  ) {
    this.session = model.session();
    this.systemText = flags.system || undefined;
  }

  /** The system message. */
  get system(): string | undefined {
    return this.systemText;
  }

  /**
   * Sets the system message. Rejects, and keeps the one before, where every turn would fail with it: the model's template
   * drops or refuses it, or it alone exceeds the context.
   */
  async setSystem(text: string | undefined): Promise<void> {
    if (text !== undefined) await this.model.chatTokens([{ role: 'system', content: text }, anyUser]);
    this.systemText = text;
  }

  reset(): void {
    this.turns = [];
  }

  /** @throws ChatError */
  save(path: string, force: boolean): Promise<void> {
    return save(path, this.messages(this.turns), force);
  }

  /**
   * Goes on with a saved conversation; gives the number of its turns. `refused`: why its system message is left out.
   * @throws ChatError
   */
  async load(path: string): Promise<{ readonly turns: number; readonly refused?: Error }> {
    const { system, turns } = await load(path);
    const refused = await this.setSystem(system).then(
      () => undefined,
      (error: Error) => error,
    );
    if (refused) this.systemText = undefined;
    this.turns = turns;
    return { turns: turns.length, ...(refused && { refused }) };
  }

  private messages(turns: readonly Turn[]): ChatMessage[] {
    const { system } = this;
    return [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...turns.flat()];
  }

  /** Streams the answer to `line`. What had been said before an abort is kept. */
  async answer(line: string, signal: AbortSignal): Promise<void> {
    const user: ChatMessage = { role: 'user', content: line };
    const { generation, turns, pieces, first } = await this.begin(user, signal);
    this.sayForgotten(this.turns.length - turns.length);
    const thoughts = new Thoughts(this.flags.thinking !== false);
    const wrap = new WordWrap(() => process.stdout.columns);
    for (let step = first; !step.done; step = await pieces.next()) {
      thoughts.show(step.value);
      await write(wrap.push(step.value.text));
    }
    thoughts.end();
    await write('\n');
    const { text, reason } = await generation.result;
    this.turns = [...turns, [user, { role: 'assistant', content: text }]];
    if (reason === 'context') notice(`the answer ends: the context of ${this.model.context} tokens is full`);
  }

  dispose(): void {
    this.session.dispose();
  }

  /**
   * The turns that stay: with room for an answer. Where turns are dropped, twice that room is free, so that not every
   * answer drops some and computes the rest anew.
   */
  private async kept(user: ChatMessage): Promise<readonly Turn[]> {
    const { context } = this.model;
    const quarter = Math.floor(context / 4);
    const room = Math.min(this.flags.maxTokens ?? quarter, quarter);
    let { turns } = this;
    if ((await this.tokensOf(turns, user)) + room <= context) return turns;
    while (turns.length > 0 && (await this.tokensOf(turns, user)) + 2 * room > context)
      turns = turns.slice(1);
    return turns;
  }

  /** Tokens of a prompt; of one beyond the context: infinitely many. */
  private async tokensOf(turns: readonly Turn[], user: ChatMessage): Promise<number> {
    try {
      return (await this.model.chatTokens([...this.messages(turns), user])).length;
    } catch (error) {
      if (isTooLong(error)) return Number.POSITIVE_INFINITY;
      throw error;
    }
  }

  /** Computes the prompt; drops the oldest turns if it does not fit. */
  private async begin(user: ChatMessage, signal: AbortSignal): Promise<Begun> {
    const { speculate, bar } = this;
    const adapters = adapterChoices(this.flags);
    const options = {
      ...generateOptions(this.flags),
      ...(adapters && { adapters }),
      ...(speculate && { speculate }),
      signal,
      onProgress: bar.update,
    };
    for (let turns = await this.kept(user); ; turns = turns.slice(1)) {
      const messages = [...this.messages(turns), user];
      const generation = this.session.chat(messages, options);
      const pieces = generation[Symbol.asyncIterator]();
      try {
        return { generation, turns, pieces, first: await pieces.next().finally(bar.stop) };
      } catch (error) {
        if (turns.length === 0 || !isTooLong(error)) throw error;
      }
    }
  }

  private sayForgotten(count: number): void {
    if (count === 0) return;
    const what = count === 1 ? 'the oldest turn is' : `the ${count} oldest turns are`;
    notice(
      `the conversation no longer fits in the context of ${this.model.context} tokens: ${what} forgotten (a larger --ctx helps)`,
    );
  }
}
