import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { isHubName, pull, shortNames } from '@quern/hub';
import fc from 'fast-check';
import { layoutOf, refPath, snapshotPath } from '../src/cache/layout.js';
import { faultOfPath } from '../src/name/check-part.js';
import { parseName, showName } from '../src/name/parse-name.js';
import { useHub } from './hub-test.js';

const test1 = useHub();

test.each([
  ['hf:Qwen/Qwen3-0.6B-GGUF', 'Qwen/Qwen3-0.6B-GGUF', 'main', { kind: 'default' }],
  ['hf:a/b:Q4_K_M', 'a/b', 'main', { kind: 'quantisation', quantisation: 'Q4_K_M' }],
  ['hf:a/b@v1.0:f16', 'a/b', 'v1.0', { kind: 'quantisation', quantisation: 'f16' }],
  ['hf:a/b@refs/pr/7', 'a/b', 'refs/pr/7', { kind: 'default' }],
  ['hf:a/b:UD-Q4_K_XL/x y (1).gguf', 'a/b', 'main', { kind: 'path', path: 'UD-Q4_K_XL/x y (1).gguf' }],
  [
    'hf:ggerganov/whisper.cpp:ggml-tiny.bin',
    'ggerganov/whisper.cpp',
    'main',
    { kind: 'path', path: 'ggml-tiny.bin' },
  ],
  ['qwen3:0.6b', 'Qwen/Qwen3-0.6B-GGUF', 'main', { kind: 'default' }],
  ['Qwen3:0.6B:q8_0', 'Qwen/Qwen3-0.6B-GGUF', 'main', { kind: 'quantisation', quantisation: 'q8_0' }],
])('%s', (text, repository, revision, selector) => {
  expect(parseName(text)).toEqual({ repository, revision, selector });
});

test('a name shows as it is written', () => {
  for (const text of ['hf:a/b', 'hf:a/b:Q4_K_M', 'hf:a/b@dev:Q4_K_M', 'hf:a/b@dev:x/y.gguf'])
    expect(showName(parseName(text))).toBe(text);
});

/** Names that would leave the cache, or that the Hub refuses. */
const hostile = [
  '',
  'hf:',
  'demo',
  '__proto__:x',
  './model.gguf',
  'C:\\model.gguf',
  'hf:a',
  'hf:/b',
  'hf:a/',
  'hf:a/b/c',
  'hf:../b',
  'hf:a/..',
  'hf:a/.b',
  'hf:a/b.',
  'hf:a/b..c',
  'hf:a/b--c',
  'hf:-a/b',
  'hf:a/b.git',
  'hf:a%2fb/c',
  'hf:a/b%2f..',
  'hf:a\\b/c',
  'hf:C:\\models/x',
  'hf:ä/b',
  'hf:a/модель',
  'hf:a/b c',
  'hf:a/b\0',
  `hf:a/${'x'.repeat(97)}`,
  'hf:a/b@',
  'hf:a/b@..',
  'hf:a/b@../../x',
  'hf:a/b@/etc',
  'hf:a/b@x//y',
  'hf:a/b@x/',
  'hf:a/b@x\\y',
  'hf:a/b@con',
  'hf:a/b@-x',
  'hf:a/b@x.lock',
  'hf:a/b@%2e%2e',
  'hf:a/b:',
  'hf:a/b:../x.gguf',
  'hf:a/b:/etc/x.gguf',
  'hf:a/b:x/../../y.gguf',
  'hf:a/b:x//y.gguf',
  'hf:a/b:..%2fx.gguf',
  'hf:a/b:x\\y.gguf',
  'hf:a/b:C:x.gguf',
  'hf:a/b:nul.gguf',
  'hf:a/b:x/COM1/y.gguf',
  'hf:a/b:x./y.gguf',
  'hf:a/b:x /y.gguf',
  'hf:a/b:x\n.gguf',
  'hf:a/b:x.txt',
  'hf:a/b:model.safetensors',
];

test.each(hostile)('%j is refused before any request', async (text) => {
  await expect(pull(text, test1.options())).rejects.toMatchObject({ code: 'BAD_NAME', name: 'HubError' });
  expect(test1.hub.seen).toEqual([]);
  expect(test1.names(test1.cacheDir)).toEqual([]);
});

test('an unknown short name: all short names, and the grammar', async () => {
  await expect(pull('qwen3:99b', test1.options())).rejects.toMatchObject({
    code: 'UNKNOWN_NAME',
    message: expect.stringMatching(/no file and no short name "qwen3:99b".*qwen3:0\.6b, .*hf:owner\/name/),
  });
  for (const text of ['constructor:name', 'tostring:x', 'qwen3:__proto__', 'qwen3:toString'])
    expect(() => parseName(text)).toThrow(expect.objectContaining({ code: 'UNKNOWN_NAME' }));
  expect(test1.hub.seen).toEqual([]);
});

test('a repository may be called like a device of Windows: its folder is not', () => {
  const layout = layoutOf('/cache', parseName('hf:con/aux').repository);
  expect(layout.folder).toBe(join('/cache', 'models--con--aux'));
});

test('paths are no names', () => {
  for (const path of [
    'model.gguf',
    './a:b.gguf',
    '/a/b:c',
    'C:model.gguf',
    'C:\\x\\y.gguf',
    'file:///x.gguf',
    'demo',
    'a/b',
  ])
    expect([path, isHubName(path)]).toEqual([path, false]);
  for (const name of ['hf:a/b', 'hf:', 'qwen3:0.6b', 'nosuch:7b'])
    expect([name, isHubName(name)]).toEqual([name, true]);
});

test('the README lists all short names', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const rows = [...readme.matchAll(/^\| `([\w.-]+:[\w.-]+)` +\| ([\w.-]+\/[\w.-]+) +\|$/gm)].map(
    ([, name, to]) => [name, to],
  );
  const table = Object.entries(shortNames).flatMap(([family, tags]) =>
    Object.entries(tags).map(([tag, repository]) => [`${family}:${tag}`, repository]),
  );
  expect(rows).toEqual(table);
});

test('every short name is the name of a repository', () => {
  const all = Object.values(shortNames).flatMap((tags) => Object.values(tags));
  expect(all.length).toBeGreaterThan(14);
  for (const repository of all) expect(parseName(`hf:${repository}`).repository).toBe(repository);
  expect(new Set(all).size).toBe(all.length);
});

const isBelow = (path: string, root: string): boolean => {
  const way = relative(root, path);
  return way !== '' && way.split(sep)[0] !== '..' && way !== '..';
};

const pieces = [
  'a',
  'B',
  '0',
  '-',
  '_',
  '.',
  '..',
  '/',
  '\\',
  ':',
  '@',
  '%2f',
  '%2e',
  ' ',
  '\0',
  'é',
  'nul',
  'con',
  'hf:',
  '.gguf',
  '.git',
  '~',
];
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));

test('no name leaves the cache, whatever it holds', () => {
  const names = fc.oneof(
    text.map((rest) => `hf:a/${rest}`),
    text.map((rest) => `hf:${rest}`),
    fc.string().map((rest) => `hf:a/b${rest}`),
  );
  fc.assert(
    fc.property(names, (name) => {
      let parsed: ReturnType<typeof parseName>;
      try {
        parsed = parseName(name);
      } catch (error) {
        expect(error).toMatchObject({ code: 'BAD_NAME' });
        return;
      }
      const root = join(sep, 'cache');
      const layout = layoutOf(root, parsed.repository);
      expect(isBelow(layout.folder, root)).toBe(true);
      expect(relative(root, layout.folder).split(sep)).toHaveLength(1);
      expect(isBelow(refPath(layout, parsed.revision), layout.refs)).toBe(true);
      if (parsed.selector.kind === 'path')
        expect(isBelow(snapshotPath(layout, 'c'.repeat(40), parsed.selector.path), layout.snapshots)).toBe(
          true,
        );
      expect(new URL(`https://hub/${parsed.repository}`).pathname).toBe(`/${parsed.repository}`);
    }),
    { numRuns: 3000, seed: 7 },
  );
});

test('no path of a listing leaves its snapshot', () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string()), (path) => {
      if (faultOfPath(path) !== undefined) return;
      const root = join(sep, 'cache', 'snapshot');
      expect(isBelow(join(root, ...path.split('/')), root)).toBe(true);
      expect(path).not.toMatch(/[\\:%\0]/);
    }),
    { numRuns: 3000, seed: 7 },
  );
});
