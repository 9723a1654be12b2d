import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atTerminal, open } from './at-terminal.js';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-verbosity-'));
afterAll(() => rmSync(folder, { recursive: true }));

const story = ['run', 'demo', '--raw', '-p', 'Once upon a time', '-n', '4', '--temperature', '0'];

test('--quiet: the answer alone; --verbose: the reasons of the plan too', async () => {
  const usual = await quern(story);
  expect(usual.stderr).toMatch(/^4 tokens on cpu/);
  const quiet = await quern([...story, '--quiet']);
  expect(quiet).toEqual({ code: 0, stdout: usual.stdout, stderr: '' });
  const verbose = await quern([...story, '--verbose']);
  expect([verbose.code, verbose.stdout]).toEqual([0, usual.stdout]);
  expect(verbose.stderr).toMatch(/^.*cpu.*\n[\s\S]*4 tokens on cpu/);
  expect(verbose.stderr.length).toBeGreaterThan(usual.stderr.length + 10);
});

test('--quiet hides no error; --verbose shows where it comes from, with its causes', async () => {
  const missing = ['run', '/no/such.gguf', '-p', 'x'];
  const usual = await quern(missing);
  expect(await quern([...missing, '--quiet'])).toEqual(usual);
  const verbose = await quern([...missing, '--verbose']);
  expect(verbose.stderr.startsWith(usual.stderr)).toBe(true);
  expect(verbose.stderr).toMatch(/\n\s+at .*:\d+/);
  const failing = await quern([...story, '--backend', 'cpu', '--backend-option', 'isa=mmx', '--verbose']);
  expect(failing.stderr).toMatch(/\nCaused by: /);
});

test('the next command has the usual amount again', async () => {
  await quern([...story, '--quiet']);
  expect((await quern(story)).stderr).toMatch(/tokens on/);
});

test('both at once are refused', async () => {
  const { code, stderr } = await quern([...story, '--quiet', '--verbose']);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^error: --quiet prints less and --verbose more/),
  ]);
});

test('a command below another one has them too', async () => {
  const { stderr } = await quern(['bench', 'serve', 'http://127.0.0.1:9', '--requests', '1', '--quiet']);
  expect(stderr).not.toMatch(/unknown option/);
});

atTerminal('no bar and no greeting at a terminal', async () => {
  const chat = open('chat demo --quiet -n 2', { env: { QUERN_CHAT_HISTORY: join(folder, 'history') } });
  await chat.waitFor('> ');
  chat.type('/help\r');
  await chat.waitFor('/save FILE');
  chat.type('\x04');
  expect(await chat.finished).toBe(0);
  expect(chat.shown()).not.toMatch(/lists the commands; Ctrl-C stops/);
});
