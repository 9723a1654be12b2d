import { writeFile } from 'node:fs/promises';
import { systemReason } from '@quern/core';
import type { ChatMessage } from '@quern/runtime';
import { readText } from '../read-text.js';
import { ChatError } from './error.js';

/** A conversation in a file. */
export interface Saved {
  readonly system: string | undefined;
  readonly turns: readonly (readonly [user: ChatMessage, assistant: ChatMessage])[];
}

/** Writes `{"messages": […]}`. @throws ChatError FILE_EXISTS, SAVE_FAILED */
export async function save(path: string, messages: readonly ChatMessage[], force: boolean): Promise<void> {
  const text = `${JSON.stringify({ messages }, null, 2)}\n`;
  await writeFile(path, text, { flag: force ? 'w' : 'wx' }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST'
      ? new ChatError('FILE_EXISTS', `${path} exists already: /save --force ${path} overwrites it`)
      : new ChatError(
          'SAVE_FAILED',
          `the conversation is not saved: ${path}: ${systemReason(error)}: give a file in a folder that exists and may be written`,
        );
  });
}

/** @throws ChatError LOAD_FAILED, NO_CONVERSATION */
export async function load(path: string): Promise<Saved> {
  const text = await readText(path).catch((error: Error) => {
    throw new ChatError(
      'LOAD_FAILED',
      `no conversation is loaded: ${error.message}: /load takes a file that /save wrote`,
    );
  });
  const messages = messagesIn(text);
  if (!messages) throw noConversation(path);
  const [first] = messages;
  const system = first?.role === 'system' ? String(first.content) : undefined;
  const rest = messages.slice(system === undefined ? 0 : 1);
  if (rest.length % 2 !== 0 || rest.some(({ role }, i) => role !== roles[i % 2])) throw noConversation(path);
  const turns = Array.from({ length: rest.length / 2 }, (_, i) => [rest[2 * i]!, rest[2 * i + 1]!] as const);
  return { system, turns };
}

const roles = ['user', 'assistant'];

const noConversation = (path: string) =>
  new ChatError(
    'NO_CONVERSATION',
    `${path} is no saved conversation: it must be {"messages": […]} with texts of user and assistant in turn, a system message may come first`,
  );

const isMessage = (value: unknown): value is ChatMessage =>
  typeof value === 'object' &&
  value !== null &&
  'role' in value &&
  'content' in value &&
  typeof value.content === 'string';

function messagesIn(text: string): ChatMessage[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const list = typeof value === 'object' && value !== null && 'messages' in value ? value.messages : value;
    return Array.isArray(list) && list.every(isMessage) ? list : undefined;
  } catch {
    return undefined;
  }
}
