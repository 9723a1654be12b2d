// Sources of weights, and errors of wrong sources.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { elementCount, type PlanDriver, type WeightPart, type WeightSource } from '@quern/core';
import { normal } from '@quern/core/testing';
import { cpuDriver } from '../src/index.js';
import { allOps, bytesOf, prepare } from './single-op.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-weights-'));
const path = join(folder, 'weights');
const values = normal(1, [8, 32]);
writeFileSync(path, bytesOf(values));

let driver: PlanDriver;
beforeAll(async () => {
  driver = await cpuDriver({ threads: 2 });
});
afterAll(() => {
  driver.dispose();
  rmSync(folder, { recursive: true });
});

const source = (bytes: Partial<{ path: string; offset: number; byteLength: number }> = {}): WeightSource => ({
  name: 'blk.0.w',
  shape: [8, 32],
  format: 'f32',
  bytes: { path, offset: 0, byteLength: 1024, ...bytes },
});

const mappings = () =>
  readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(path)).length;

test.each<[string, WeightSource, string, RegExp]>([
  [
    'a missing file',
    source({ path: join(folder, 'nothing') }),
    'BAD_WEIGHT',
    /blk\.0\.w.*nothing.*No such file/,
  ],
  ['a folder', source({ path: folder }), 'BAD_WEIGHT', /is not a file/],
  ['an offset past the end', source({ offset: 64 }), 'BAD_WEIGHT', /1024 bytes.*64 to 1088/],
  [
    'bytes that do not fit the shape',
    source({ byteLength: 1000 }),
    'BAD_WEIGHT',
    /takes 1024 bytes; got 1000/,
  ],
  ['an unknown format', { ...source(), format: 'q9_z' }, 'UNSUPPORTED', /q9_z/],
  ['no shape', { ...source(), shape: [] }, 'BAD_WEIGHT', /1 to 4 dimensions/],
  [
    'a row that is no whole number of blocks',
    { ...source(), shape: [16, 16], format: 'q8_0' },
    'BAD_WEIGHT',
    /blocks of 32/,
  ],
  ['a shape that overflows', { ...source(), shape: [2 ** 40, 2 ** 40] }, 'BAD_WEIGHT', /too large/],
  ['too few bytes in memory', { ...source(), bytes: new Uint8Array(1020) }, 'BAD_WEIGHT', /got 1020/],
])('%s', async (_name, bad, code, message) => {
  const error = await driver.loadWeight(bad).catch((thrown) => thrown);
  expect(error).toMatchObject({ name: 'BackendError', code });
  expect(error.message).toMatch(message);
});

test('a pipe is refused without waiting for it', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await expect(driver.loadWeight(source({ path: pipe }))).rejects.toThrow('is not a file');
});

test('a truncated file', async () => {
  const short = join(folder, 'short');
  writeFileSync(short, bytesOf(values));
  truncateSync(short, 1023);
  await expect(driver.loadWeight(source({ path: short }))).rejects.toMatchObject({ code: 'BAD_WEIGHT' });
});

test('weights of one file share one mapping; the last weight unmaps it', async () => {
  expect(mappings()).toBe(0);
  const first = await driver.loadWeight(source());
  const second = await driver.loadWeight({ ...source({ offset: 512, byteLength: 512 }), shape: [4, 32] });
  expect(mappings()).toBe(1);
  driver.freeWeight(first);
  expect(mappings()).toBe(1);
  driver.freeWeight(second);
  expect(mappings()).toBe(0);
});

test('a replaced file is read again', async () => {
  const replaced = join(folder, 'replaced');
  const read = async () => {
    const w = await driver.loadWeight(source({ path: replaced }));
    const embed = {
      ...allOps.embed!.samples()[0]!,
      operands: { table: values, ids: { shape: [1], format: 'i32', values: [0] } },
    };
    const single = await prepare({ ...driver, loadWeight: async () => w }, allOps.embed!, embed);
    await driver.executor.execute(single.plan, single.io);
    return Number((await single.results())[0]![0]);
  };
  writeFileSync(replaced, bytesOf({ format: 'f32', values: new Float32Array(256).fill(1) }));
  expect(await read()).toBe(1);
  rmSync(replaced);
  writeFileSync(replaced, bytesOf({ format: 'f32', values: new Float32Array(256).fill(2) }));
  expect(await read()).toBe(2);
});

test('bytes in memory are copied', async () => {
  const bytes = bytesOf(values);
  const w = await driver.loadWeight({ ...source(), bytes });
  expect(w.byteLength).toBe(1024);
  bytes.fill(0);
  const ids = { shape: [1], format: 'i32', values: [7] };
  const sample = { name: '', operands: { table: values, ids }, attributes: {} };
  const single = await prepare({ ...driver, loadWeight: async () => w }, allOps.embed!, sample);
  await driver.executor.execute(single.plan, single.io);
  expect(Array.from((await single.results())[0]!)).toEqual(Array.from(values.values).slice(7 * 32));
});

test('a vector in bf16 takes four bytes per element: it is kept as f32', async () => {
  const w = await driver.loadWeight({ name: 'norm', shape: [32], format: 'bf16', bytes: new Uint8Array(64) });
  expect(w.byteLength).toBe(128);
});

describe('files that change', () => {
  const changing = join(folder, 'changing');
  const halves = { shape: [512, 64], format: 'f16', values: new Float32Array(512 * 64).fill(1) };
  const stored = (mmap?: boolean): WeightSource => ({
    name: 'w',
    shape: [512, 64],
    format: 'f16',
    bytes: { path: changing, offset: 0, byteLength: 65536, ...(mmap !== undefined && { mmap }) },
  });
  beforeEach(() => writeFileSync(changing, bytesOf(halves)));
  afterEach(() => rmSync(changing));

  /** The first element of the last row. */
  async function lastRow(source: WeightSource, change: () => void): Promise<number> {
    const w = await driver.loadWeight(source);
    const ids = { shape: [1], format: 'i32', values: [511] };
    const sample = { name: '', operands: { table: halves, ids }, attributes: {} };
    const single = await prepare({ ...driver, loadWeight: async () => w }, allOps.embed!, sample);
    change();
    await driver.executor.execute(single.plan, single.io);
    return Number((await single.results())[0]![0]);
  }

  test('a mapped file that is truncated is an error', async () => {
    await expect(lastRow(stored(), () => truncateSync(changing, 0))).rejects.toMatchObject({
      code: 'DEVICE_FAILED',
      message: expect.stringMatching(/changing.*had 65536 bytes and now has 0.*mmap: false/),
    });
  });

  test('a file read into memory is not needed any more', async () => {
    expect(await lastRow(stored(false), () => truncateSync(changing, 0))).toBe(1);
  });

  test('the file of vectors and packed matrices is not needed any more', async () => {
    const packs = driver.profile.isa !== 'scalar'; // scalar kernels read matrices where they are
    const mapped = () => readFileSync('/proc/self/maps', 'utf8').split(changing).length;
    const before = mapped();
    await driver.loadWeight({ ...source({ path: changing, byteLength: 1024 }), shape: [256] });
    await driver.loadWeight({
      ...source({ path: changing, byteLength: 34 * 16 }),
      shape: [16, 32],
      format: 'q8_0',
    });
    expect(mapped() - before).toBe(packs ? 0 : 1);
  });

  test.each([true, false])('a file with too few bytes, mmap: %s', async (mmap) => {
    truncateSync(changing, 65535);
    await expect(driver.loadWeight(stored(mmap))).rejects.toMatchObject({
      code: 'BAD_WEIGHT',
      message: expect.stringContaining('has 65535 bytes'),
    });
  });

  test('mmap that is neither true nor false', async () => {
    const bytes = { path: changing, offset: 0, byteLength: 65536, mmap: Object('no') };
    await expect(driver.loadWeight({ ...stored(), bytes })).rejects.toMatchObject({ code: 'BAD_WEIGHT' });
  });
});

describe('parts', () => {
  const part = (offset: number, byteLength = 256): WeightPart => ({
    bytes: { path, offset, byteLength },
    rows: 2,
  });
  const stack = (...parts: WeightPart[]): WeightSource => ({
    ...{ name: 'stack', shape: [3, 2, 32], format: 'f32' },
    bytes: parts,
  });

  test('that are whole matrices of a mapped file stay mapped until freed', async () => {
    const loaded = await driver.loadWeight(stack(part(0), part(512), part(256)));
    expect(loaded.byteLength).toBe(768);
    expect(mappings()).toBe(1);
    driver.freeWeight(loaded);
    expect(mappings()).toBe(0);
  });

  test.each<[string, WeightSource]>([
    ['that cut a matrix', { ...stack(part(0), { ...part(256, 512), rows: 4 }), shape: [2, 3, 32] }],
    ['some at addresses not aligned for floats', stack(part(0), part(257), part(512))],
    [
      'that are columns',
      stack(
        { bytes: { path, offset: 0, byteLength: 768 }, rows: 3, columns: { from: 32, of: 64 } },
        {
          ...part(0, 384),
          rows: 3,
        },
      ),
    ],
    ['of a vector', { ...stack({ ...part(0, 128), rows: 32 }, { ...part(512, 64), rows: 16 }), shape: [48] }],
  ])('%s are copied: the file is not needed any more', async (_, source) => {
    const loaded = await driver.loadWeight(source);
    expect(loaded.byteLength).toBe(4 * elementCount(source.shape));
    expect(mappings()).toBe(0);
    driver.freeWeight(loaded);
  });

  test.each<[string, WeightSource, string, RegExp]>([
    ['none', stack(), 'BAD_WEIGHT', /has 6 rows; its 0 parts have 0/],
    ['too few', stack(part(0), part(256)), 'BAD_WEIGHT', /\[3, 2, 32\] has 6 rows; its 2 parts have 4/],
    ['too many', stack(part(0), part(0), part(0), part(0)), 'BAD_WEIGHT', /part 4 of 4: 2 rows; 0 of shape/],
    [
      'one past the end',
      stack(part(0), part(900), part(0)),
      'BAD_WEIGHT',
      /part 2 of 3:.*1024 bytes.*900 to 1156/,
    ],
    [
      'one with too few bytes',
      stack(part(0, 252), part(0), part(0)),
      'BAD_WEIGHT',
      /take 256 bytes; got 252/,
    ],
    [
      'columns outside their rows',
      stack({ bytes: { path, offset: 0, byteLength: 1024 }, rows: 6, columns: { from: 32, of: 48 } }),
      'BAD_WEIGHT',
      /columns 32 to 64 lie outside rows of 48 elements/,
    ],
    [
      'columns that begin within a block',
      {
        ...stack({ bytes: { path, offset: 0, byteLength: 408 }, rows: 6, columns: { from: 16, of: 64 } }),
        format: 'q8_0',
      },
      'BAD_WEIGHT',
      /columns 16 to 48 of rows of 64 elements are no whole number of q8_0 blocks of 32/,
    ],
  ])('%s', async (_name, source, code, message) => {
    const error = await driver.loadWeight(source).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'BackendError', code });
    expect(error.message).toMatch(/^weight 'stack'/);
    expect(error.message).toMatch(message);
  });
});
