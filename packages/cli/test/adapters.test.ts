import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadModel } from '@quern/runtime';
import { writeDemoAdapter } from '../../server/test/demo-adapter.js';
import { adapterChoices, adapterPaths } from '../src/adapters.js';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-cli-adapters-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'poet');
beforeAll(async () => {
  using model = await loadModel('demo', { onNotice: () => {} });
  writeDemoAdapter(path, model);
});

const request = 'Tell me a story about a fox.';
const run = (...flags: string[]) =>
  quern(['run', 'demo', request, '--temperature', '0', '-n', '16', ...flags]);

test('names and paths', () => {
  const flags = { adapter: ['/x/poet', 'a.b=/y/c.gguf', '/z/c.gguf', './d=e'] };
  expect(adapterPaths(flags)).toEqual({
    poet: '/x/poet',
    'a.b': '/y/c.gguf',
    c: '/z/c.gguf',
    'd=e': './d=e',
  });
  expect(adapterChoices({ adapter: ['/x/poet'], adapterScale: 0.5 })).toEqual([{ name: 'poet', scale: 0.5 }]);
  expect(adapterChoices({})).toBeUndefined();
});

test('run, chat and logits use the adapter', async () => {
  const plain = await run();
  const adapted = await run('--adapter', path);
  expect(adapted.code).toBe(0);
  expect(adapted.stdout).not.toBe(plain.stdout);
  expect((await run('--adapter', `poet=${path}`, '--adapter-scale', '0')).stdout).toBe(plain.stdout);
  const chat = ['chat', 'demo', '--temperature', '0', '-n', '16', '--adapter', path];
  expect((await quern(chat, `${request}\n`)).stdout).toBe(adapted.stdout);
  const logits = (...more: string[]) => quern(['logits', 'demo', '--ids', '1,2', '--json', ...more]);
  expect((await logits('--adapter', path)).stdout).not.toBe((await logits()).stdout);
}, 120_000);

test('a wrong path is one line', async () => {
  const { code, stderr, stdout } = await run('--adapter', join(folder, 'none'));
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr.trim()).toMatch(/there is no such adapter/);
  const wrong = await run('--adapter', path, '--adapter-scale', 'x');
  expect(wrong.stderr).toMatch(/it must be a number/);
}, 120_000);
