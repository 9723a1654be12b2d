import type { Model, SpeculateOptions } from '@quern/runtime';
import { Command } from 'commander';
import { adapterPaths, withAdapters } from '../adapters.js';
import { Conversation, type ConversationFlags } from '../chat/conversation.js';
import { UnknownCommand } from '../chat/error.js';
import { help, readLine } from '../chat/line.js';
import { Lines } from '../chat/lines.js';
import { resolveTemplate, type TemplateFlags, withTemplate } from '../chat/template.js';
import { load } from '../load.js';
import { type LoadFlags, withLoading, withSampling, withStoredCache } from '../options.js';
import {
  needSpeculationFlags,
  type SpeculationFlags,
  speculateOptions,
  withSpeculation,
} from '../speculation.js';
import { Interrupted, interruptible } from '../terminal/interrupt.js';
import { isCoded, report, say, sayError } from '../terminal/report.js';

interface ChatFlags extends LoadFlags, ConversationFlags, SpeculationFlags, TemplateFlags {}

/** Errors that would repeat for every line. */
const permanentErrors: readonly string[] = ['NO_CHAT_TEMPLATE', 'NO_TOKENIZER', 'IGNORED'];

/** An error of one line leaves the chat unchanged; input from a pipe: exit status 1 at the end. */
function reportLineError(error: unknown, interactive: boolean): void {
  const stopped = error instanceof Interrupted && error.by === 'SIGINT' && interactive;
  if (stopped) return;
  if (!isCoded(error) || permanentErrors.includes(error.code)) throw error;
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
    reportLineError(error, interactive);
  }
}

/** Executes a line; false ends the chat. */
async function execute(conversation: Conversation, typed: string, interactive: boolean): Promise<boolean> {
  const line = readLine(typed);
  if (line.kind === 'message') await answer(conversation, line.text, interactive);
  else if (line.kind === 'unknown') reportLineError(new UnknownCommand(line.command), interactive);
  else if (line.kind === 'reset') conversation.reset();
  else if (line.kind === 'help') say(help);
  return line.kind !== 'exit';
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
    let line = await lines.next();
    while (line !== undefined && (await execute(conversation, line, lines.interactive)))
      line = await lines.next();
  } finally {
    conversation.dispose();
    lines.close();
  }
}

async function chat(path: string, given: ChatFlags, command: Command): Promise<void> {
  needSpeculationFlags(given, command);
  const flags = await resolveTemplate(given, command);
  const { draft } = flags;
  const more = { adapters: adapterPaths(flags) };
  using model = await interruptible((signal) => load(path, flags, signal, more));
  using drafting =
    draft === undefined ? undefined : await interruptible((signal) => load(draft, flags, signal));
  await converse(model, flags, speculateOptions(flags, drafting));
  await model.saveCache();
}

export const chatCommand = (): Command =>
  withAdapters(withSpeculation(withSampling(withTemplate(withStoredCache(withLoading(new Command('chat')))))))
    .description(`chat with a model, one line per message; ${help}`)
    .argument('<model>')
    .option('--system <text>', 'the system message')
    .action(chat);
