import { systemReason } from '@quern/core';
import type { Model, SpeculateOptions } from '@quern/runtime';
import { Command } from 'commander';
import { adapterPaths, withAdapters } from '../adapters.js';
import { Conversation, type ConversationFlags } from '../chat/conversation.js';
import { ChatError, unknownCommand } from '../chat/error.js';
import { History } from '../chat/history.js';
import { historyPath } from '../chat/history-path.js';
import { help, hint, type Line, readLine } from '../chat/line.js';
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
import { count } from '../terminal/count.js';
import { Interrupted, interruptible } from '../terminal/interrupt.js';
import { isCoded, notice, report, say, sayError } from '../terminal/report.js';

interface ChatFlags extends LoadFlags, ConversationFlags, SpeculationFlags, TemplateFlags {
  /** False with --no-history. */
  readonly history: boolean;
}

/** Errors that would repeat for every line. */
const isPermanent = (code: string): boolean => ['NO_CHAT_TEMPLATE', 'NO_TOKENIZER'].includes(code);

/** An error of one line leaves the chat unchanged; input from a pipe: exit status 1 at the end. */
function reportLineError(error: unknown, interactive: boolean): void {
  const stopped = error instanceof Interrupted && error.by === 'SIGINT' && interactive;
  if (stopped) return;
  if (!isCoded(error) || isPermanent(error.code)) throw error;
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

/** Executes an entry; false ends the chat. */
async function execute(conversation: Conversation, typed: string, interactive: boolean): Promise<boolean> {
  const line = readLine(typed);
  if (line.kind === 'message') await answer(conversation, line.text, interactive);
  else
    try {
      await command(conversation, line);
    } catch (error) {
      reportLineError(error, interactive);
    }
  return line.kind !== 'exit';
}

async function command(conversation: Conversation, line: Exclude<Line, { kind: 'message' }>): Promise<void> {
  if (line.kind === 'unknown') throw unknownCommand(line.command);
  if (line.kind === 'reset') conversation.reset();
  else if (line.kind === 'help') say(help);
  else if (line.kind === 'system') await setSystem(conversation, line.argument);
  else if (line.kind === 'save') await save(conversation, line.argument);
  else if (line.kind === 'load') await loadSaved(conversation, line.argument);
}

async function setSystem(conversation: Conversation, text: string): Promise<void> {
  if (text !== '') await conversation.setSystem(text === '-' ? undefined : text);
  const { system } = conversation;
  say(system === undefined ? 'there is no system message' : `the system message: ${system}`);
}

async function save(conversation: Conversation, argument: string): Promise<void> {
  const path = argument.replace(/^--force\s+/, '');
  if (path === '') throw new ChatError('NO_FILE', '/save needs a file: /save chat.json');
  await conversation.save(path, path !== argument);
  say(`saved in ${path}`);
}

async function loadSaved(conversation: Conversation, path: string): Promise<void> {
  if (path === '') throw new ChatError('NO_FILE', '/load needs a file: /load chat.json');
  const { turns, refused } = await conversation.load(path);
  say(`${count(turns, 'turn')} of ${path}`);
  if (refused) say(`the system message of ${path} is left out: ${refused.message}`);
}

const openHistory = ({ history }: ChatFlags): Promise<History> =>
  History.open(history && process.stdin.isTTY ? historyPath() : '', (error) =>
    notice(
      `earlier messages are not kept: ${historyPath()}: ${systemReason(error)} (--no-history does without; QUERN_CHAT_HISTORY names another file)`,
    ),
  );

async function converse(
  model: Model,
  flags: ChatFlags,
  speculate: SpeculateOptions | undefined,
): Promise<void> {
  const lines = new Lines(await openHistory(flags));
  const conversation = new Conversation(model, flags, speculate);
  if (lines.interactive) notice(`${model.backend}, context of ${model.context} tokens. ${hint}`);
  try {
    await conversation.setSystem(conversation.system); // rejects where every turn would fail
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
    .description('chat with a model; from a pipe, one line is one message')
    .argument('<model>')
    .option('--system <text>', 'the system message')
    .option('--no-history', 'keep no messages for the next chat (QUERN_CHAT_HISTORY: another file for them)')
    .addHelpText('after', `\nIn a chat:\n${help}`)
    .action(chat);
