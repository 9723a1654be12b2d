import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSyntheticEncoder, makeSyntheticSpeechModel } from '@quern/runtime';
import { wavFile } from '../../runtime/test/audio/sound-files.js';
import { atTerminal, type Opened, open as openWith } from './at-terminal.js';

/** A command at a terminal, with a file for the lines of chats. */
const open = (args: string, history = '', columns = 80): Opened =>
  openWith(args, { env: { QUERN_CHAT_HISTORY: history }, columns });

const folder = mkdtempSync(join(tmpdir(), 'quern-terminal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, name);

atTerminal.each([
  ['run', `demo -f ${at('long.txt')} --raw -n 1 --ctx 2048`, /prefill: \d+ of \d+ tokens/],
  ['embed', `${at('encoder.gguf')} < ${at('lines.txt')}`, /embed: \d+ of 3000 texts/],
  ['rerank', `${at('ranker.gguf')} mill < ${at('lines.txt')}`, /rerank: \d+ of 3000 texts/],
  [
    'transcribe',
    `${at('whisper.gguf')} ${at('tone.wav')} --max-tokens 2`,
    /transcribe: 0 of 3 seconds of sound/,
  ],
])('a bar during %s', async (command, args, bar) => {
  writeFileSync(at('long.txt'), 'Once upon a time there was a tortoise. '.repeat(70));
  writeFileSync(at('lines.txt'), 'a mill\n'.repeat(3000));
  writeFileSync(
    at('tone.wav'),
    wavFile([Array.from({ length: 40_000 }, (_, i) => Math.sin(i / 9) / 4)], { bits: 16 }),
  );
  await makeSyntheticEncoder(at('encoder.gguf'), { shape: 'tiny', format: 'f32' });
  await makeSyntheticEncoder(at('ranker.gguf'), { shape: 'tiny', format: 'f32', ranks: true });
  await makeSyntheticSpeechModel(at('whisper.gguf'), { shape: 'whisper-test', format: 'f32' });
  const opened = open(`${command} ${args}`);
  expect(await opened.finished).toBe(0);
  expect(opened.shown()).toMatch(bar);
});

const ctrlC = '\x03';

atTerminal(
  'Ctrl-C stops an answer, clears a line, ends the chat at the second press on an empty line',
  async () => {
    const chat = open('chat demo --temperature 0 --backend reference');
    await chat.waitFor('> ');
    chat.type('Tell me a story\r');
    await chat.waitFor(' the '); // a word of every story, absent from the request
    chat.type(ctrlC);
    await chat.waitFor('> ');
    chat.type('half a line');
    await chat.waitFor('half a line');
    chat.type(ctrlC);
    await chat.waitFor('> ');
    chat.type('/help\r');
    await chat.waitFor('clears the conversation');
    await chat.waitFor('> ');
    chat.type(ctrlC);
    await chat.waitFor('ends the chat');
    chat.type(ctrlC);
    expect(await chat.finished).toBe(130);
  },
);

/** The messages of a conversation, saved by the chat. */
async function messagesOf(chat: Opened, name: string): Promise<Record<string, string>[]> {
  const path = join(folder, name);
  chat.type(`/save ${path}\r`);
  await chat.waitFor('saved in');
  return (JSON.parse(readFileSync(path, 'utf8')) as { messages: Record<string, string>[] }).messages;
}

atTerminal(
  'pasted lines are one message; entries of several lines; the history of an earlier chat',
  async () => {
    const history = join(folder, 'history');
    const chat = open('chat demo --temperature 0 -n 3 --system Short. --chat-template chatml', history);
    await chat.waitFor('\x1b[?2004h');
    await chat.waitFor('> ');
    chat.type('\x1b[200~line one\rline two\rline three\x1b[201~');
    await chat.waitFor('one↵line two↵line three');
    chat.type('\r');
    await chat.waitFor('> ');
    chat.type('a\x1b\rb\\\r');
    await chat.waitFor('. ');
    chat.type('c\r');
    await chat.waitFor('> ');
    const said = (await messagesOf(chat, 'one.json')).filter(({ role }) => role !== 'assistant');
    expect(said.map(({ content }) => content)).toEqual([
      'Short.',
      'line one\nline two\nline three',
      'a\nb\nc',
    ]);
    await chat.waitFor('> ');
    chat.type('\x04');
    expect(await chat.finished).toBe(0);
    expect(chat.shown()).toContain('\x1b[?2004l');
    const next = open(`chat demo --temperature 0 -n 3`, history);
    await next.waitFor('> ');
    next.type('\x1b[A\x1b[A\x1b[A\x1b[A\r'); // /save, c, a↵b\, the pasted lines
    await next.waitFor('> ');
    expect((await messagesOf(next, 'two.json'))[0]!.content).toBe('line one\nline two\nline three');
    next.type('\x04');
    await next.finished;
  },
);

atTerminal('Tab completes a command, and the file of one', async () => {
  writeFileSync(at('a-saved-chat.json'), JSON.stringify({ messages: [] }));
  const chat = open('chat demo');
  await chat.waitFor('> ');
  chat.type('/sy\t');
  await chat.waitFor('/system');
  chat.type(ctrlC);
  await chat.waitFor('> ');
  chat.type(`/load ${at('a-sav')}\t`);
  await chat.waitFor('a-saved-chat.json');
  chat.type('\r');
  await chat.waitFor('0 turns of');
  chat.type('\x04');
  expect(await chat.finished).toBe(0);
});

atTerminal('no word is broken at the edge; --no-history keeps nothing', async () => {
  const history = join(folder, 'none');
  const chat = open('chat demo --temperature 0 -n 60 --no-history', history, 40);
  await chat.waitFor('> ');
  chat.type('Tell me a story\r');
  await chat.waitFor('story');
  await chat.waitFor('> ');
  const [, answer] = await messagesOf(chat, 'words.json');
  chat.type('\x04');
  await chat.finished;
  const words = new Set(answer!.content!.split(/\s+/));
  const shown = chat.shown().split('Tell me a story').at(-1)!.split('> ')[0]!;
  const rows = shown
    .replace(/[^\S\n]+\r?\n/g, '\n')
    .split(/\r?\n/)
    .map((row) => row.split('\x1b[')[0]!.trim());
  for (const row of rows.filter((each) => each !== '')) {
    expect(row.length).toBeLessThan(40);
    expect(words).toContain(row.split(' ')[0]);
  }
  expect(rows.filter((row) => row !== '').length).toBeGreaterThan(2);
  expect(existsSync(history)).toBe(false);
});

atTerminal.each([
  ['run demo', /no prompt: give one with -p/],
  ['tokenize demo', /no text: give one as an argument/],
])('%s names the missing input', async (args, says) => {
  const command = open(args);
  expect(await command.finished).toBe(1);
  expect(command.shown()).toMatch(says);
});
