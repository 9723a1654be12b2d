// Copies of the cache's blocks in host memory and in a folder.
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend } from '@quern/backend-reference';
import { type Backend, KvCache } from '@quern/core';
import { type GenerateOptions, type LoadOptions, loadModel, type Model } from '../../src/index.js';
import { hasCpu } from '../backends.js';
import { writeTinyAdapter } from '../tiny-adapter.js';
import { tinyVocabulary as vocabulary, writeTinyModel } from '../tiny-model.js';
import { countedRows } from './counted-rows.js';

let backend: Backend;
let path: string;
const blockSize = 4;
const blockBytes = 2 * 2 * blockSize * 8 * 4; // k and v, layers, tokens, d, f32
const fileBytes = blockBytes + 140;

beforeAll(async () => {
  backend = await createBackend();
  path = await writeTinyModel();
});

afterAll(() => backend.dispose());

const restores: (() => void)[] = [];
afterEach(() => {
  for (const restore of restores.splice(0)) restore();
});

/** Replaces a method until the end of the test. */
function replace<T extends object, K extends keyof T>(object: T, name: K, method: T[K]): void {
  const before = object[name];
  restores.push(() => Object.assign(object, { [name]: before }));
  object[name] = method;
}

const newFolder = (): string => join(mkdtempSync(join(tmpdir(), 'quern-cache-')), 'blocks');
const filesIn = (folder: string): string[] => readdirSync(folder).sort();
const load = (options: LoadOptions): Promise<Model> =>
  loadModel(path, { backend, cacheDtype: 'f32', blockSize, prefillChunk: 16, ...options });

const promptOf = (length: number, seed = 1): number[] =>
  Array.from({ length }, (_, i) => 1 + ((i * 7 + seed * 13 + i * i * seed) % (vocabulary - 1)));

async function answer(model: Model, prompt: readonly number[], signal?: AbortSignal) {
  const options = { maxTokens: 6, temperature: 0, ignoreEos: true, ...(signal && { signal }) };
  const { tokens, cachedTokens } = await model.generate(prompt, options).result;
  return { tokens, cachedTokens };
}

/** The tokens of a model without any copies. */
async function plain(prompt: readonly number[], options: LoadOptions = {}) {
  using model = await load(options);
  return (await answer(model, prompt)).tokens;
}

/** A folder with the blocks of `promptOf(18)`, from a model that has been disposed. */
async function filledFolder(options: LoadOptions = {}): Promise<string> {
  const cacheDir = newFolder();
  using model = await load({ cacheDir, ...options });
  await answer(model, promptOf(18));
  await model.saveCache();
  return cacheDir;
}

/** The answer of a new model over a folder, and its notices. */
async function answerWith(cacheDir: string, options: LoadOptions = {}) {
  const notices: string[] = [];
  using model = await load({ cacheDir, onNotice: (text) => notices.push(text), ...options });
  const found = await answer(model, promptOf(18));
  await model.saveCache();
  return { ...found, notices, stats: model.stats() };
}

describe('a folder', () => {
  test.each(hasCpu ? ['reference', 'cpu'] : ['reference'])(
    'a restarted model on %s computes only the rest',
    async (name) => {
      using own = name === 'cpu' ? await createCpu({ threads: 2 }) : await createBackend();
      const wanted = await plain(promptOf(18), { backend: own });
      const cacheDir = await filledFolder({ backend: own });
      expect(filesIn(cacheDir)).toHaveLength(5); // 18 + 5 computed tokens
      for (const file of filesIn(cacheDir)) {
        expect(file).toMatch(/^[0-9a-f]{64}\.kv$/);
        expect(statSync(join(cacheDir, file)).size).toBe(fileBytes);
      }
      using counted = countedRows();
      const found = await answerWith(cacheDir, { backend: own, graph: false }); // no chains: all rows are counted
      expect(found).toMatchObject({ tokens: wanted, cachedTokens: 16, notices: [] });
      expect(found.stats).toMatchObject({ diskHits: 16, memoryHits: 0, prefixHits: 16 });
      expect(counted.rows).toBe(2 + 5);
    },
  );

  test('the default type of the cache, and another type, which has files of its own', async () => {
    const wanted = await plain(promptOf(18), { cacheDtype: 'f16' });
    const cacheDir = await filledFolder({ cacheDtype: 'f16' });
    expect(await answerWith(cacheDir)).toMatchObject({ cachedTokens: 0, notices: [] });
    expect(await answerWith(cacheDir, { cacheDtype: 'f16' })).toMatchObject({
      tokens: wanted,
      cachedTokens: 16,
    });
  });

  test('other models, precisions and block sizes do not share blocks', async () => {
    const cacheDir = await filledFolder();
    const other = await writeTinyModel({ seed: 77 });
    using model = await loadModel(other, { backend, cacheDtype: 'f32', blockSize, cacheDir });
    expect((await answer(model, promptOf(18))).cachedTokens).toBe(0);
    expect((await answerWith(cacheDir, { blockSize: 8 })).cachedTokens).toBe(0);
    using copied = await loadModel(await writeTinyModel(), {
      backend,
      cacheDtype: 'f32',
      blockSize,
      cacheDir,
    });
    expect((await answer(copied, promptOf(18))).cachedTokens).toBe(16); // the same content under another path
  });

  test('blocks under adapters: by the content of the adapters and their scales', async () => {
    const cacheDir = newFolder();
    const again = async (
      adapter: string,
      adapters: GenerateOptions['adapters'],
      options: LoadOptions = { cacheDir },
    ) => {
      using model = await load({ adapters: { first: adapter }, ...options });
      const wanted = { maxTokens: 6, temperature: 0, ignoreEos: true, adapters };
      const { tokens, cachedTokens } = await model.generate(promptOf(18), wanted).result;
      await model.saveCache();
      return { tokens, cachedTokens };
    };
    const { tokens } = await again(writeTinyAdapter(), 'first', {});
    expect(await again(writeTinyAdapter(), 'first')).toEqual({ tokens, cachedTokens: 0 });
    expect(filesIn(cacheDir)).toHaveLength(5);
    expect(await again(writeTinyAdapter(), 'first')).toEqual({ tokens, cachedTokens: 16 }); // a copy elsewhere
    expect((await again(writeTinyAdapter(), { name: 'first', scale: 0.5 })).cachedTokens).toBe(0);
    expect((await again(writeTinyAdapter({ seed: 700 }), 'first')).cachedTokens).toBe(0);
    expect((await again(writeTinyAdapter(), undefined)).cachedTokens).toBe(0);
    expect(filesIn(cacheDir)).toHaveLength(20);
  });

  test('two models use a folder at the same time', async () => {
    const cacheDir = newFolder();
    using a = await load({ cacheDir });
    using b = await load({ cacheDir });
    const both = await Promise.all([a, b].map((model) => answer(model, promptOf(18))));
    expect(both[0]).toEqual(both[1]);
    await Promise.all([a.saveCache(), b.saveCache()]);
    expect(filesIn(cacheDir)).toHaveLength(5);
    await answer(a, promptOf(18, 2));
    await a.saveCache();
    expect((await answer(b, promptOf(18, 2))).cachedTokens).toBe(16); // written after b was loaded
  });

  test('calls with the same stored beginning restore it once', async () => {
    const cacheDir = await filledFolder();
    using model = await load({ cacheDir, sequences: 4 });
    const found = await Promise.all([1, 2, 3].map((id) => answer(model, [...promptOf(18).slice(0, 17), id])));
    expect(found.map(({ cachedTokens }) => cachedTokens)).toEqual([16, 16, 16]);
    expect(model.stats().diskHits).toBe(16);
  });
});

describe('a file that cannot be used is reported once and replaced', () => {
  const cases: [string, RegExp, (file: string) => void][] = [
    ['damaged values', /checksum/, (file) => change(file, fileBytes - 5)],
    ['a damaged checksum', /checksum/, (file) => change(file, 120)],
    ['cut off', /has 100 bytes instead of/, (file) => truncateSync(file, 100)],
    ['empty', /has 0 bytes instead of/, (file) => truncateSync(file, 0)],
    [
      'foreign, of the same size',
      /no file of this cache/,
      (file) => writeFileSync(file, new Uint8Array(fileBytes)),
    ],
    ['of another version', /another version/, (file) => change(file, 8)],
    ['of another model', /another model/, (file) => change(file, 20)],
    ['of other tokens', /other tokens/, (file) => change(file, 50)],
    ['of another type', /another type/, (file) => change(file, 77)],
    ['of another shape', /another shape/, (file) => change(file, 88)],
  ];

  function change(file: string, at: number): void {
    const bytes = readFileSync(file);
    bytes[at]! ^= 0x41;
    writeFileSync(file, bytes);
  }

  let wanted: number[];
  beforeAll(async () => {
    wanted = [...(await plain(promptOf(18)))];
  });

  test.each(cases)('%s', async (_, message, damage) => {
    const cacheDir = await filledFolder();
    for (const file of filesIn(cacheDir)) damage(join(cacheDir, file));
    const found = await answerWith(cacheDir);
    expect(found).toMatchObject({ tokens: wanted, cachedTokens: 0 });
    expect(found.notices).toEqual([expect.stringMatching(message)]);
    expect(await answerWith(cacheDir)).toMatchObject({ tokens: wanted, cachedTokens: 16, notices: [] });
  });

  test('the blocks before a damaged one are used', async () => {
    const cacheDir = await filledFolder();
    const byAge = filesIn(cacheDir).sort(
      (a, b) => statSync(join(cacheDir, b)).mtimeMs - statSync(join(cacheDir, a)).mtimeMs,
    );
    const [, , third] = byAge.map((file) => join(cacheDir, file));
    truncateSync(third!, 7);
    expect(await answerWith(cacheDir)).toMatchObject({ tokens: wanted, cachedTokens: 8 });
  });
});

describe('writing', () => {
  test('a full disk: one notice, no temporary file, the answers go on', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    const write = fs.writeFile;
    replace(fs, 'writeFile', async (file, data, options) => {
      await write(file, (data as Uint8Array).subarray(0, 50), options);
      throw full;
    });
    const cacheDir = newFolder();
    const wanted = await plain(promptOf(18));
    const found = await answerWith(cacheDir);
    expect(found).toMatchObject({ tokens: wanted, cachedTokens: 0 });
    expect(found.notices).toEqual([expect.stringMatching(/cannot be written \(ENOSPC.*Free space/)]);
    expect(filesIn(cacheDir)).toEqual([]);
  });

  test('dispose meanwhile: what was begun ends whole', async () => {
    const cacheDir = newFolder();
    const model = await load({ cacheDir });
    const rename = fs.rename;
    const renamed = new Promise<void>((resolve) => {
      replace(fs, 'rename', async (from, to) => {
        model.dispose();
        await rename(from, to);
        setTimeout(resolve, 20);
      });
    });
    await answer(model, promptOf(18));
    await renamed;
    expect(filesIn(cacheDir)).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.kv$/)]);
    await expect(model.saveCache()).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  test('the folder stays within its bound; the ends of texts and the oldest texts go first', async () => {
    const cacheDir = newFolder();
    using model = await load({ cacheDir, cacheDirBytes: 12 * fileBytes });
    for (let seed = 1; seed <= 4; seed++) {
      await answer(model, promptOf(18, seed));
      await model.saveCache();
      expect(filesIn(cacheDir).length).toBeLessThanOrEqual(12);
    }
    const cached = [];
    for (const seed of [1, 4]) {
      using again = await load({ cacheDir, cacheDirBytes: 12 * fileBytes });
      cached.push((await answer(again, promptOf(18, seed))).cachedTokens);
    }
    expect(cached).toEqual([0, 16]);
  });

  test('other files are left alone; old temporary files are deleted at load, new ones are not', async () => {
    const cacheDir = await filledFolder();
    const temporary = (digit: string) => join(cacheDir, `${digit.repeat(64)}.17-0123abcd.tmp`);
    for (const file of [temporary('a'), temporary('b'), join(cacheDir, 'notes.txt')])
      writeFileSync(file, 'x');
    utimesSync(temporary('a'), 1, 1);
    utimesSync(join(cacheDir, 'notes.txt'), 1, 1);
    using _ = await load({ cacheDir, cacheDirBytes: fileBytes });
    expect(existsSync(temporary('a'))).toBe(false);
    expect(existsSync(temporary('b'))).toBe(true);
    expect(filesIn(cacheDir).filter((file) => file.endsWith('.kv')).length).toBeLessThanOrEqual(1);
    expect(existsSync(join(cacheDir, 'notes.txt'))).toBe(true);
  });
});

describe('host memory', () => {
  const small = { context: 32, sequences: 1 } as const; // 8 blocks
  const prompts = [1, 2, 3].map((seed) => promptOf(21, seed));

  test.each([true, false])('evicted blocks come back; the texts are the same (graph: %s)', async (graph) => {
    const wanted = await Promise.all(prompts.map((prompt) => plain(prompt, small)));
    using model = await load({ ...small, graph, cacheMemory: 100 * blockBytes });
    for (const prompt of prompts) await answer(model, prompt);
    using counted = countedRows();
    for (const [i, prompt] of prompts.entries())
      expect(await answer(model, prompt)).toEqual({ tokens: wanted[i], cachedTokens: 20 });
    if (!graph) expect(counted.rows).toBe(3 * (1 + 5)); // rows of chains are not counted
    expect(model.stats()).toMatchObject({ diskHits: 0, prefixHits: 60 });
    expect(model.stats().memoryHits).toBeGreaterThanOrEqual(40);
    expect(model.freeBlocks).toBe(8);
  });

  test('the bound is kept', async () => {
    using model = await load({ ...small, cacheMemory: 5 * blockBytes + 1 });
    for (let seed = 1; seed < 8; seed++) {
      await answer(model, promptOf(21, seed));
      expect(model.stats().cacheMemoryBytes).toBeLessThanOrEqual(5 * blockBytes);
    }
    expect(model.stats().cacheMemoryBytes).toBe(5 * blockBytes);
  });

  test('without it, evicted blocks are computed again', async () => {
    using model = await load(small);
    for (const prompt of prompts) await answer(model, prompt);
    expect((await answer(model, prompts[0]!)).cachedTokens).toBe(0);
  });

  test.each([true, false])('beside a folder: nothing is lost (written before: %s)', async (written) => {
    const wanted = await plain(prompts[0]!, small);
    using model = await load({ ...small, cacheMemory: 2 * blockBytes, cacheDir: newFolder() });
    for (const prompt of prompts) await answer(model, prompt);
    if (written) await model.saveCache();
    expect(await answer(model, prompts[0]!)).toEqual({ tokens: wanted, cachedTokens: 20 });
    if (written) expect(model.stats().diskHits).toBeGreaterThan(0);
  });

  test('many calls at once in a small cache', async () => {
    const wanted = await Promise.all(prompts.map((prompt) => plain(prompt, small)));
    using model = await load({ ...small, cacheMemory: 100 * blockBytes, cacheDir: newFolder() });
    for (let round = 0; round < 2; round++) {
      const found = await Promise.all([...prompts, ...prompts].map((prompt) => answer(model, prompt)));
      expect(found.map(({ tokens }) => tokens)).toEqual([...wanted, ...wanted]);
    }
    expect(model.stats()).toMatchObject({ running: 0, waiting: 0, freeBlocks: 8 });
  });
});

describe('while blocks are restored', () => {
  /** Stops `KvCache.writeBlocks` at its n-th call. */
  function stopAt(n: number) {
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let count = 0;
    const write = KvCache.prototype.writeBlocks;
    const reached = new Promise<void>((resolve) => {
      replace(KvCache.prototype, 'writeBlocks', async function (this: KvCache, ...args) {
        if (++count === n) {
          resolve();
          await gate;
        }
        return write.apply(this, args);
      });
    });
    return { reached, goOn, count: () => count };
  }

  test('an abort ends the call at once; the restored blocks stay known', async () => {
    const cacheDir = await filledFolder();
    using model = await load({ cacheDir });
    const { reached, goOn, count } = stopAt(2);
    const abort = new AbortController();
    const aborted = answer(model, promptOf(18), abort.signal);
    await reached;
    abort.abort();
    await aborted.catch(() => {}); // ends before the write does
    goOn();
    const wanted = await plain(promptOf(18));
    expect(await answer(model, promptOf(18))).toEqual({ tokens: wanted, cachedTokens: 16 });
    expect(count()).toBe(4); // no block was restored twice
    expect(model.freeBlocks).toBe(24);
  });

  test('dispose rejects the call', async () => {
    const cacheDir = await filledFolder();
    const model = await load({ cacheDir });
    const { reached, goOn } = stopAt(2);
    const call = answer(model, promptOf(18));
    const rejected = expect(call).rejects.toMatchObject({ code: 'DISPOSED' });
    await reached;
    model.dispose();
    goOn();
    await rejected;
  });

  test('a device that fails: one notice, and the tokens are computed', async () => {
    const cacheDir = await filledFolder();
    replace(KvCache.prototype, 'writeBlocks', () => Promise.reject(new Error('lost')));
    const found = await answerWith(cacheDir);
    expect(found).toMatchObject({ tokens: await plain(promptOf(18)), cachedTokens: 0 });
    expect(found.notices).toEqual([expect.stringMatching(/cannot be copied \(lost\)/)]);
    expect(found.stats.freeBlocks).toBe(24);
  });
});

test.each([
  [{ cacheDir: '' }, /cacheDir is [^;]+; it must be a path/],
  [{ cacheDir: '/dev/null/x' }, /cannot be made or read \(ENOTDIR/],
  [{ cacheMemory: 1e6, deterministic: true }, /cacheMemory and deterministic exclude each other/],
  [{ cacheDirBytes: 1e6 }, /cacheDirBytes bounds the folder cacheDir, which is missing/],
  [{ cacheMemory: 100 }, /cacheMemory is 100, but one block of this model takes 512 bytes/],
  [{ cacheDir: newFolder(), cacheDirBytes: 100 }, /cacheDirBytes is 100, but one block of this model takes/],
] as [LoadOptions, RegExp][])('refused: %j', async (options, message) => {
  await expect(load(options)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(message),
  });
});
