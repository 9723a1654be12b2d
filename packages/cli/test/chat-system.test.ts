// A system message that the template of the model drops is refused when it is set; the chat goes on without it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-chat-system-'));
afterAll(() => rmSync(folder, { recursive: true }));

const chat = (input: string, ...flags: readonly string[]) =>
  quern(['chat', 'demo', '-n', '3', '--temperature', '0', ...flags], input);

const dropped = /the chat template of this model ignores system messages.*: say it in a message of the user/;

test('/system is refused; the next message is answered', async () => {
  const plain = await chat('Hello!\n');
  const { code, stdout, stderr } = await chat('/system You are kind\n/system\nHello!\n');
  expect([code, stdout]).toEqual([1, plain.stdout]);
  expect(stderr).toMatch(new RegExp(`^quern: ${dropped.source}.*\\(IGNORED\\)$`, 'm'));
  expect(stderr).toContain('there is no system message');
});

test('--system is refused at the start', async () => {
  const { code, stdout, stderr } = await chat('Hello!\n', '--system', 'You are kind');
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(dropped)]);
});

test('/load leaves it out and says so', async () => {
  const path = join(folder, 'chat.json');
  const messages = [
    { role: 'system', content: 'You are kind' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
  ];
  writeFileSync(path, JSON.stringify({ messages }));
  const { code, stdout, stderr } = await chat(`/load ${path}\n/system\nA story?\n`);
  expect([code, stdout.length > 1]).toEqual([0, true]);
  expect(stderr).toContain(`1 turn of ${path}\nthe system message of ${path} is left out: the chat template`);
  expect(stderr).toContain('there is no system message');
});

test('a system message too long for the context is refused; one that the template shows is taken', async () => {
  const { code, stderr } = await chat(
    `/system Be kind.\n/system ${'word '.repeat(600)}\n/system\nHi\n`,
    '--chat-template',
    'chatml',
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^the system message: Be kind\.\nquern: .*\(PROMPT_TOO_LONG\)\nthe system message: Be kind\.\n$/,
  );
});
