import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import { codePoint } from '../../../test-strings.js';
import {
  byteLength,
  FileError,
  formatNames,
  formats,
  type GgufInput,
  type MetadataInput,
  openGguf,
  parseGguf,
  type TensorInput,
  writeGguf,
} from '../src/index.js';
import { entry, rawGguf, text, u32, u64 } from './gguf-bytes.js';
import { scratch } from './scratch.js';
import { describeShared, shared } from './shared-data.js';

const bytesFor = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 31) & 0xff);

async function written(input: GgufInput) {
  const path = scratch('written.gguf');
  await writeGguf(path, input);
  return { file: await openGguf(path), bytes: new Uint8Array(await readFile(path)) };
}

test('a tensor of every format is read back, aligned', async () => {
  const tensors = formatNames.map((format): TensorInput => {
    const shape = [3, formats[format].blockSize];
    return { name: `t.${format}`, shape, format, data: bytesFor(byteLength(format, shape)) };
  });
  for (const alignment of [32, 8, 4096]) {
    const { file, bytes } = await written({ metadata: {}, tensors, alignment });
    expect(file.alignment).toBe(alignment);
    expect(file.tensors.map(({ name, shape, format }) => ({ name, shape, format }))).toEqual(
      tensors.map(({ name, shape, format }) => ({ name, shape, format })),
    );
    for (const { offset, byteLength: length } of file.tensors) {
      expect(offset % alignment).toBe(0);
      expect(bytes.slice(offset, offset + length)).toEqual(bytesFor(length));
    }
  }
});

test('data may come in pieces, or be made when needed', async () => {
  async function* pieces() {
    yield bytesFor(8).subarray(0, 3);
    yield bytesFor(8).subarray(3);
  }
  const sources: TensorInput['data'][] = [bytesFor(8), pieces(), pieces, async () => bytesFor(8)];
  const tensors = sources.map((data, i): TensorInput => ({ name: `t${i}`, shape: [2], format: 'f32', data }));
  const { file, bytes } = await written({ metadata: {}, tensors });
  for (const { offset } of file.tensors) expect(bytes.slice(offset, offset + 8)).toEqual(bytesFor(8));
});

test('types of metadata are inferred', async () => {
  const metadata: Record<string, MetadataInput> = {
    yes: true,
    text: 'ein Grüß Gott 🦊',
    small: 7,
    negative: -7,
    wide: 2 ** 40,
    fraction: 0.5,
    big: 2n ** 63n,
    bigNegative: -(2n ** 63n),
    typed: { type: 'float32', value: 10000 },
    byte: { type: 'uint8', value: 255 },
    short: { type: 'int16', value: -2 },
    double: { type: 'float64', value: Math.PI },
    ints: [1, -2, 3],
    wideInts: [1, 2 ** 40],
    floats: [1, 0.5],
    strings: ['a', '', '\ufeffb', '🦊', 'é'],
    flags: [true, false],
    none: [],
    typedArray: Uint16Array.of(1, 65535),
    longs: BigUint64Array.of(2n ** 64n - 1n),
    nested: [[1, 2], [3]],
    nestedStrings: [['a'], ['b', 'c']],
  };
  const { file } = await written({ metadata, tensors: [] });
  expect(Object.fromEntries(file.metadata)).toEqual({
    ...metadata,
    typed: 10000,
    byte: 255,
    short: -2,
    double: Math.PI,
    ints: Int32Array.of(1, -2, 3),
    wideInts: BigInt64Array.of(1n, 2n ** 40n),
    floats: Float32Array.of(1, 0.5),
    nested: [Int32Array.of(1, 2), Int32Array.of(3)],
  });
  expect(Object.fromEntries(file.metadataTypes)).toMatchObject({
    yes: 'bool',
    small: 'uint32',
    negative: 'int32',
    wide: 'uint64',
    fraction: 'float32',
    big: 'uint64',
    bigNegative: 'int64',
    typed: 'float32',
    byte: 'uint8',
    short: 'int16',
    nested: 'array',
  });
});

test('any strings are read back unchanged', async () => {
  const strings = fc.array(fc.string({ unit: codePoint }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(strings, async (list) => {
      const { file } = await written({ metadata: { list, one: list.join() }, tensors: [] });
      expect(file.metadata.get('list')).toEqual(list);
      expect(file.metadata.get('one')).toBe(list.join());
    }),
    { seed: 5, numRuns: runs(60) },
  );
});

test('invalid UTF-8 damages no other string', () => {
  const broken = [...u64(2), 0xc3, 0x28];
  const half = [...u64(1), 0xa9];
  const value = [...u32(8), ...u64(4), ...text('é'), ...broken, ...half, ...text('ok')];
  const file = parseGguf(rawGguf({ entries: [entry('k', 9, value)] }));
  expect(file.metadata.get('k')).toEqual(['é', '\ufffd(', '\ufffd', 'ok']);
});

test('version 2 is read like version 3', () => {
  const raw = { entries: [entry('k', 4, u32(9))], tensors: [{}] };
  const [two, three] = [2, 3].map((version) => parseGguf(rawGguf({ ...raw, version })));
  expect(two).toEqual({ ...three!, version: 2 });
});

describeShared('tiny-hf', () => {
  test('reading and writing a file gives the same file', async () => {
    const path = shared('tiny-hf/tiny_kquant.gguf');
    const [file, bytes] = [await openGguf(path), await readFile(path)];
    const metadata = new Map(
      [...file.metadata].map(([key, value]) => [key, { type: file.metadataTypes.get(key)!, value }]),
    );
    const tensors = file.tensors.map(({ name, shape, format, offset, byteLength: length }) => {
      return { name, shape, format, data: bytes.subarray(offset, offset + length) };
    });
    const again = await written({ metadata, tensors });
    expect(Buffer.compare(again.bytes, bytes)).toBe(0);
  });
});

describe('input that no reader would accept', () => {
  const path = scratch('refused.gguf');
  const tensor: TensorInput = { name: 'a', shape: [2], format: 'f32', data: bytesFor(8) };
  const cases: [string, GgufInput, string][] = [
    ['too little data', { metadata: {}, tensors: [{ ...tensor, data: bytesFor(7) }] }, 'BAD_DATA'],
    ['too much data', { metadata: {}, tensors: [{ ...tensor, data: bytesFor(9) }] }, 'BAD_DATA'],
    ['a name twice', { metadata: {}, tensors: [tensor, tensor] }, 'BAD_TENSOR'],
    ['a partial block', { metadata: {}, tensors: [{ ...tensor, format: 'q4_k' }] }, 'BAD_TENSOR'],
    ['an odd alignment', { metadata: {}, tensors: [], alignment: 24 }, 'BAD_HEADER'],
    ['256 as a byte', { metadata: { k: { type: 'uint8', value: 256 } }, tensors: [] }, 'BAD_HEADER'],
    ['0.5 as an integer', { metadata: { k: { type: 'int32', value: 0.5 } }, tensors: [] }, 'BAD_HEADER'],
    ['text as a number', { metadata: { k: { type: 'int32', value: 'x' } }, tensors: [] }, 'BAD_HEADER'],
    ['an array of two types', { metadata: { k: ['x', 1] }, tensors: [] }, 'BAD_HEADER'],
  ];

  test('a folder that does not exist', async () => {
    const refusal = writeGguf(scratch('none/a.gguf'), { metadata: {}, tensors: [tensor] });
    await expect(refusal).rejects.toMatchObject({ name: 'FileError', code: 'WRITE_FAILED' });
  });

  test.each(cases)('%s', async (_, input, code) => {
    const refusal = writeGguf(path, input);
    await expect(refusal).rejects.toBeInstanceOf(FileError);
    await expect(refusal).rejects.toMatchObject({ code });
    expect([existsSync(path), existsSync(`${path}.partial`)]).toEqual([false, false]);
  });
});
