import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const empty = join(folder, 'empty');
mkdirSync(empty);

const long = Array.from({ length: 600 }, () => 'word').join(' ');

const cases: readonly (readonly [name: string, args: readonly string[], code: string, says: RegExp])[] = [
  ['a missing file', ['run', '/no/such/model.gguf', '-p', 'x'], 'MODEL_NOT_FOUND', /\/no\/such\/model\.gguf/],
  ['a folder without a model', ['run', empty, '-p', 'x'], 'NO_MODEL', /config\.json|gguf/i],
  [
    'a file that is no GGUF',
    ['inspect', file('text.gguf', 'hello world, this is text')],
    'NOT_GGUF',
    /text\.gguf/,
  ],
  ['a truncated GGUF', ['inspect', file('short.gguf', 'GGUF\x03\0\0\0')], 'TRUNCATED', /short\.gguf/],
  [
    'a backend that is not installed',
    ['run', 'demo', '-p', 'x', '--backend', 'cuda'],
    'BACKEND_NOT_FOUND',
    /npm install @quern\/backend-cuda/,
  ],
  ['a prompt longer than the context', ['run', 'demo', '-p', long], 'PROMPT_TOO_LONG', /512/],
  [
    'a context larger than memory',
    ['run', 'demo', '-p', 'x', '--ctx', '2000000000'],
    'CONTEXT_TOO_LARGE',
    /2000000000/,
  ],
  ['a token id out of range', ['logits', 'demo', '--ids', '1,99999'], 'BAD_TOKEN', /99999/],
  [
    'a temperature below zero',
    ['run', 'demo', '-p', 'x', '--temperature', '-1'],
    'BAD_OPTION',
    /temperature/,
  ],
];

test.each(cases)('%s gets one clear message and status 1', async (_name, args, code, says) => {
  const { code: status, stdout, stderr } = await quern(args);
  expect(status).toBe(1);
  expect(stderr).toMatch(new RegExp(`^quern: .*\\(${code}\\)`, 'm'));
  expect(stderr).toMatch(says);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(stdout).not.toMatch(/\(\w+_\w+\)/);
});

test('a misspelt option is refused with the way to help', async () => {
  const { code, stderr } = await quern(['run', 'demo', '--temprature', '1']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/--temperature/);
});
