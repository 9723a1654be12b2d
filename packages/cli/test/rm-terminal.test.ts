import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atTerminal, open } from './at-terminal.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-rm-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const snapshot = join(folder, 'models--owner--name/snapshots', 'c0ffee'.padEnd(40, '0'));
const file = join(snapshot, 'm-Q8_0.gguf');

beforeEach(() => {
  mkdirSync(snapshot, { recursive: true });
  writeFileSync(file, Buffer.alloc(1500));
});

const question = 'Remove 1 file of hf:owner/name, 1.5 kB? [y/N] ';

atTerminal.each([
  ['y', 'y\r', 0, 'removed 1 file of hf:owner/name, 1.5 kB', true],
  ['YES and a space', 'YES \r', 0, 'removed 1 file', true],
  ['n', 'n\r', 0, 'nothing was removed', false],
  ['Enter', '\r', 0, 'nothing was removed', false],
  ['another word', 'yesterday\r', 0, 'nothing was removed', false],
  ['a corrected answer', 'n\x7fy\r', 0, 'removed 1 file', true],
  ['Ctrl-D', '\x04', 0, 'nothing was removed', false],
  ['Ctrl-C', '\x03', 130, question, false],
])('quern rm asks; %s', async (_name, keys, status, says, removes) => {
  const opened = open('rm hf:owner/name@c0ffee0000000000000000000000000000000000', {
    env: { HF_HUB_CACHE: folder },
  });
  await opened.waitFor('? [y/N] ');
  opened.type(keys);
  expect(await opened.finished).toBe(status);
  expect(opened.shown()).toContain(says.replace('owner/name', `owner/name@${'c0ffee'.padEnd(40, '0')}`));
  expect(existsSync(file)).toBe(!removes);
});

atTerminal('--yes asks nothing', async () => {
  const opened = open('rm hf:owner/name@c0ffee0000000000000000000000000000000000 --yes', {
    env: { HF_HUB_CACHE: folder },
  });
  expect(await opened.finished).toBe(0);
  expect([opened.shown().includes('?'), existsSync(file)]).toEqual([false, false]);
});
