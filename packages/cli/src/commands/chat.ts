import { createInterface, type Interface } from 'node:readline/promises';
import type { ChatMessage, Model } from '@quern/runtime';
import { Command } from 'commander';
import { withModel } from '../load.js';
import {
  generateOptions,
  type LoadFlags,
  type SamplingFlags,
  withLoading,
  withSampling,
} from '../options.js';
import { interruptible } from '../terminal/interrupt.js';
import { say } from '../terminal/report.js';
import { write } from '../terminal/write.js';

interface ChatFlags extends LoadFlags, SamplingFlags {
  readonly system?: string;
}

const help = '/reset forgets the conversation, /exit (or Ctrl-D) ends it; Ctrl-C stops an answer';

/** One conversation. The session keeps what it has read, so a turn costs only its new tokens. */
class Conversation {
  private readonly session;
  private readonly opening: ChatMessage[];
  private messages: ChatMessage[];

  constructor(
    model: Model,
    private readonly flags: ChatFlags,
  ) {
    this.session = model.session();
    this.opening = flags.system ? [{ role: 'system', content: flags.system }] : [];
    this.messages = [...this.opening];
  }

  reset(): void {
    this.messages = [...this.opening];
  }

  /** Streams the answer to `line`. What had been said before an abort is kept. */
  async answer(line: string, signal: AbortSignal): Promise<void> {
    const messages: ChatMessage[] = [...this.messages, { role: 'user', content: line }];
    const generation = this.session.chat(messages, { ...generateOptions(this.flags), signal });
    for await (const { text } of generation) await write(text);
    await write('\n');
    const { text } = await generation.result;
    this.messages = [...messages, { role: 'assistant', content: text }];
  }

  dispose(): void {
    this.session.dispose();
  }
}

/** Asks for a line; undefined at the end of input. */
async function ask(lines: AsyncIterator<string>, terminal: Interface): Promise<string | undefined> {
  if (process.stdin.isTTY) terminal.prompt();
  const { value, done } = await lines.next();
  return done ? undefined : value.trim();
}

async function converse(model: Model, flags: ChatFlags): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
  const lines = terminal[Symbol.asyncIterator]();
  const conversation = new Conversation(model, flags);
  terminal.on('SIGINT', () => process.emit('SIGINT'));
  if (process.stdin.isTTY) say(help);
  try {
    for (
      let line = await ask(lines, terminal);
      line !== undefined && line !== '/exit';
      line = await ask(lines, terminal)
    ) {
      if (line === '/reset') conversation.reset();
      else if (line === '/help') say(help);
      else if (line) await interruptible((signal) => conversation.answer(line!, signal));
    }
  } finally {
    conversation.dispose();
    terminal.close();
  }
}

export const chatCommand = (): Command =>
  withSampling(withLoading(new Command('chat')))
    .description('talk with a model')
    .argument('<model>')
    .option('--system <text>', 'what the model is told first')
    .action((path: string, flags: ChatFlags) =>
      interruptible((signal) => withModel(path, flags, signal, (model) => converse(model, flags))),
    );
