import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitStatus } from '../src/terminal/exit-status.js';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-status-'));
afterAll(() => rmSync(folder, { recursive: true }));

const text = join(folder, 'text.gguf');
writeFileSync(text, 'This is a text, not a model.');

const env = { HF_HUB_CACHE: join(folder, 'hub'), HF_HUB_OFFLINE: '1' };
const story = ['run', 'demo', '--raw', '-p', 'Once', '-n', '2'];

/** The cases of the README's table: its words, a command, the status, and what stderr has. */
const cases: readonly (readonly [row: string, args: readonly string[], status: number, stderr: RegExp])[] = [
  ['done', story, exitStatus.done, /tokens/],
  ['--help', ['--help'], exitStatus.done, /^$/],
  ['--version', ['--version'], exitStatus.done, /^$/],
  ['wrong usage', ['run', 'demo', '--no-such-option'], exitStatus.failed, /^error: unknown option/],
  ['an argument', ['run'], exitStatus.failed, /^error: missing required argument/],
  ['a command', ['no-such-command'], exitStatus.failed, /^error: unknown command/],
  [
    'refused input',
    ['run', '/no/such.gguf', '-p', 'x'],
    exitStatus.failed,
    /^quern: .*\(MODEL_NOT_FOUND\)\n$/,
  ],
  ['a file', ['run', text, '-p', 'x'], exitStatus.failed, /^quern: .*\(NOT_GGUF\)\n$/],
  [
    'a prompt',
    ['run', 'demo', '-p', 'word '.repeat(600)],
    exitStatus.failed,
    /^quern: .*\(PROMPT_TOO_LONG\)\n$/,
  ],
  [
    'out of memory',
    [...story, '--ctx', '2000000000'],
    exitStatus.failed,
    /^quern: .*\(CONTEXT_TOO_LARGE\)\n$/,
  ],
  ['no backend', [...story, '--backend', 'granite'], exitStatus.failed, /^quern: .*\(BACKEND_NOT_FOUND\)\n$/],
  [
    'one that fails',
    [...story, '--backend', 'cpu', '--backend-option', 'isa=mmx'],
    exitStatus.failed,
    /^quern: .*\(BACKEND_FAILED\)\n$/,
  ],
  ['a download that fails', ['run', 'hf:owner/name', '-p', 'x'], exitStatus.failed, /\(NOT_CACHED\)\n$/],
];

const table = readFileSync(new URL('../README.md', import.meta.url), 'utf8').split('## Exit status')[1]!;

test.each(cases)('%s', async (row, args, status, says) => {
  const { code, stderr } = await quern(args, '', { env });
  expect(code).toBe(status);
  expect(stderr).toMatch(says);
  expect(table).toContain(row);
});

test('`quern doctor` with a fault; a turn of a piped chat that fails', async () => {
  const broken = { ...env, QUERN_CPU_BINARY: '/no/such.node' };
  expect((await quern(['doctor'], '', { env: broken })).code).toBe(exitStatus.failed);
  const turns = `${'word '.repeat(600)}\nHello!\n`;
  const chat = await quern(['chat', 'demo', '-n', '2'], turns, { env });
  expect([chat.code, chat.stderr]).toEqual([exitStatus.failed, expect.stringContaining('(PROMPT_TOO_LONG)')]);
});

// SIGINT and SIGTERM: interrupt.test.ts.

test('the row of a server that is stopped, which serve.test.ts tests', () => {
  expect(table).toContain('`serve`, stopped by Ctrl-C or SIGTERM');
});

test('the table lists the statuses, all of them', () => {
  const listed = [...table.matchAll(/^\| (\d+) /gm)].map(([, status]) => Number(status));
  expect(listed).toEqual(Object.values(exitStatus));
  for (const [, code] of table.matchAll(/\((\w+)\)`/g)) expect(code).toMatch(/^[A-Z_]+$/);
});
