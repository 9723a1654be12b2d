import type { Model, SpeculateOptions } from '@quern/runtime';
import { Command } from 'commander';
import { Conversation, type ConversationFlags } from '../chat/conversation.js';
import { Lines } from '../chat/lines.js';
import { load } from '../load.js';
import { type LoadFlags, withLoading, withSampling } from '../options.js';
import {
  needSpeculationFlags,
  type SpeculationFlags,
  speculateOptions,
  withSpeculation,
} from '../speculation.js';
import { Interrupted, interruptible } from '../terminal/interrupt.js';
import { isCoded, report, say, sayError } from '../terminal/report.js';

interface ChatFlags extends LoadFlags, ConversationFlags, SpeculationFlags {}

const help = '/reset forgets the conversation, /exit (or Ctrl-D) ends it; Ctrl-C stops an answer';

/** Errors that no other line would mend. */
const hopeless: readonly string[] = ['NO_CHAT_TEMPLATE', 'NO_TOKENIZER'];

/** What goes wrong with one line leaves the chat as it was; from a pipe, the status tells of it at the end. */
function survive(error: unknown, interactive: boolean): void {
  const stopped = error instanceof Interrupted && error.by === 'SIGINT' && interactive;
  if (stopped) return;
  if (!isCoded(error) || hopeless.includes(error.code)) throw error;
  if (interactive) sayError(error);
  else report(error);
}

async function answer(conversation: Conversation, line: string, interactive: boolean): Promise<void> {
  try {
    await interruptible(async (signal) => {
      await conversation.answer(line, signal);
      signal.throwIfAborted();
    });
  } catch (error) {
    survive(error, interactive);
  }
}

async function converse(
  model: Model,
  flags: ChatFlags,
  speculate: SpeculateOptions | undefined,
): Promise<void> {
  const lines = new Lines();
  const conversation = new Conversation(model, flags, speculate);
  if (lines.interactive) say(help);
  try {
    for (let line = await lines.next(); line !== undefined && line !== '/exit'; line = await lines.next()) {
      if (line === '/reset') conversation.reset();
      else if (line === '/help') say(help);
      else if (line) await answer(conversation, line, lines.interactive);
    }
  } finally {
    conversation.dispose();
    lines.close();
  }
}

async function chat(path: string, flags: ChatFlags, command: Command): Promise<void> {
  needSpeculationFlags(flags, command);
  const { draft } = flags;
  using model = await interruptible((signal) => load(path, flags, signal));
  using drafting =
    draft === undefined ? undefined : await interruptible((signal) => load(draft, flags, signal));
  await converse(model, flags, speculateOptions(flags, drafting));
}

export const chatCommand = (): Command =>
  withSpeculation(withSampling(withLoading(new Command('chat'))))
    .description('talk with a model')
    .argument('<model>')
    .option('--system <text>', 'what the model is told first')
    .action(chat);
