import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSyntheticEncoder } from '@quern/runtime';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-embed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const model = join(folder, 'tiny.gguf');
beforeAll(() => makeSyntheticEncoder(model, { shape: 'tiny', format: 'f32', ranks: true }));

test('embed --json: a row per text, from arguments or standard input lines', async () => {
  const given = JSON.parse((await quern(['embed', model, 'a b', 'c', '--json'])).stdout);
  expect(given.tokens).toBe(7);
  expect(given.embeddings.map((row: number[]) => row.length)).toEqual([32, 32]);
  for (const row of given.embeddings) expect(Math.hypot(...row)).toBeCloseTo(1, 5);
  expect(JSON.parse((await quern(['embed', model, '--json'], 'a b\nc\n')).stdout)).toEqual(given);
});

test.each([
  [['embed', model, 'b', 'a '.repeat(100)], 'text 1 has 102 tokens; the limit is 64'],
  [['rerank', model, 'q', 'b', 'a '.repeat(100)], 'the query and text 1 have 104 tokens; the limit is 64'],
])('%j: a text that is too long is an error, or truncated and counted', async (args, says) => {
  const refused = await quern(args);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toContain(says);
  expect(refused.stderr).toContain('(--truncate on the command line)');
  for (const flags of [['--truncate'], ['--max-tokens', '64']]) {
    const { code, stdout, stderr } = await quern([...args, '--json', ...flags]);
    expect([code, JSON.parse(stdout).truncated]).toEqual([0, 1]);
    expect(stderr).toContain('1 of 2 texts was longer than the limit and truncated');
  }
});

test('embed prints numbers', async () => {
  const { code, stdout, stderr } = await quern(['embed', model, 'a b']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.trim().split(' ')).toHaveLength(32);
});

test('rerank prints the best text first', async () => {
  const texts = ['a b c', 'd e f', 'g'];
  const { ranked } = JSON.parse((await quern(['rerank', model, 'a', ...texts, '--json'])).stdout);
  expect(ranked.map(({ index }: { index: number }) => index).sort()).toEqual([0, 1, 2]);
  const { stdout } = await quern(['rerank', model, 'a', ...texts]);
  expect(stdout.split('\n')[0]).toBe(`${ranked[0].score.toFixed(4)}\t${texts[ranked[0].index]}`);
});

test('embed, rerank and verify pass --backend-option to the backend', async () => {
  const flags = ['--backend', 'reference', '--backend-option', 'speed=2'];
  for (const args of [
    ['embed', model, 'a', '--no-mmap'],
    ['rerank', model, 'a', 'b', '--no-mmap'],
    ['verify', model],
  ]) {
    const { code, stderr } = await quern([...args, ...flags]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("no option 'speed'")]);
  }
});

test('inspect has no plan for an encoder, nor flags for one', async () => {
  const described = JSON.parse((await quern(['inspect', model, '--json'])).stdout);
  expect(described).toMatchObject({ model: { kind: 'encoder' } });
  expect(described).not.toHaveProperty('plan');
  const { code, stderr } = await quern(['inspect', model, '--backend', 'cpu']);
  expect([code, stderr]).toEqual([
    1,
    `error: ${model} is no language model, so there is no plan for --backend\n`,
  ]);
});

test('a language model embeds, and says how; it ranks nothing', async () => {
  const { code, stdout, stderr } = await quern(['embed', 'demo', 'a', 'b', '--json']);
  expect([code, JSON.parse(stdout).embeddings.length]).toEqual([0, 2]);
  expect(stderr.match(/is a language model.*the mean of the hidden states/g)).toHaveLength(1);
  expect((await quern(['rerank', 'demo', 'a', 'b'])).stderr).toContain('(NO_CLASSIFIER)');
});

test('--dimensions: the first numbers, of length 1', async () => {
  const embeddings = async (...flags: string[]): Promise<number[][]> =>
    JSON.parse((await quern(['embed', model, 'a b', '--json', ...flags])).stdout).embeddings;
  const [[whole], [short]] = [await embeddings(), await embeddings('--dimensions', '5')];
  const length = Math.hypot(...whole!.slice(0, 5));
  expect(short).toHaveLength(5);
  for (const [i, value] of short!.entries()) expect(value).toBeCloseTo(whole![i]! / length, 6);
  const wide = await quern(['embed', model, 'a', '--dimensions', '9999']);
  expect(wide.stderr).toMatch(/dimensions is 9999; it must be a whole number from 1 to \d+/);
});

test('no texts, and a model of another kind: errors', async () => {
  expect((await quern(['embed', model])).stderr).toContain('there is no text');
  expect((await quern(['run', model, '-p', 'a'])).stderr).toContain('is an encoder');
});
