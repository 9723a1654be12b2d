import { truncate, writeFile } from 'node:fs/promises';
import { FileError, type FileErrorCode, openGguf, parseGguf } from '../src/index.js';
import { entry, type RawGguf, rawGguf, text, u32, u64 } from './gguf-bytes.js';
import { scratch } from './scratch.js';

const huge = 2n ** 60n;
const stringArray = (count: number | bigint) => [...u32(8), ...u64(count)];
const nested = (depth: number): number[] =>
  depth === 0 ? [...u32(0), ...u64(0)] : [...u32(9), ...u64(1), ...nested(depth - 1)];

const cases: [string, RawGguf, FileErrorCode, RegExp][] = [
  ['another magic', { magic: 'GGUX' }, 'NOT_GGUF', /"GGUX"/],
  ['the format before GGUF', { magic: 'tjgg' }, 'NOT_GGUF', /older than GGUF/],
  ['a Git LFS pointer', { magic: 'vers' }, 'NOT_GGUF', /git lfs pull/],
  ['a big-endian file', { version: 3 * 2 ** 24 }, 'BIG_ENDIAN', /big-endian/],
  ['version 1', { version: 1 }, 'UNSUPPORTED_VERSION', /version 1/],
  ['version 4', { version: 4 }, 'UNSUPPORTED_VERSION', /version 4/],
  ['2^60 tensors', { tensorCount: huge }, 'TRUNCATED', /tensors/],
  ['2^60 metadata entries', { entryCount: huge }, 'TRUNCATED', /metadata entries/],
  ['one tensor too many in the count', { tensorCount: 1, dataBytes: 0 }, 'TRUNCATED', /tensors/],
  ['a string of 2^60 bytes', { entries: [entry('k', 8, text('', huge))] }, 'TRUNCATED', /"k"/],
  ['an array of 2^60 strings', { entries: [entry('k', 9, stringArray(huge))] }, 'TRUNCATED', /strings/],
  [
    'an array of 2^60 numbers',
    { entries: [entry('k', 9, [...u32(6), ...u64(huge)])] },
    'TRUNCATED',
    /float32/,
  ],
  ['an array of 2^60 arrays', { entries: [entry('k', 9, [...u32(9), ...u64(huge)])] }, 'TRUNCATED', /arrays/],
  [
    'an array of 2^60 booleans',
    { entries: [entry('k', 9, [...u32(7), ...u64(huge)])] },
    'TRUNCATED',
    /booleans/,
  ],
  ['arrays 1000 deep', { entries: [entry('k', 9, nested(1000))] }, 'BAD_HEADER', /deep/],
  ['an unknown metadata type', { entries: [entry('k', 13, u32(0))] }, 'BAD_HEADER', /type 13/],
  ['a key twice', { entries: [entry('k', 4, u32(1)), entry('k', 4, u32(2))] }, 'BAD_HEADER', /twice/],
  ['alignment 0', { entries: [entry('general.alignment', 4, u32(0))] }, 'BAD_HEADER', /power of two/],
  ['alignment 48', { entries: [entry('general.alignment', 4, u32(48))] }, 'BAD_HEADER', /48/],
  ['alignment as text', { entries: [entry('general.alignment', 8, text('32'))] }, 'BAD_HEADER', /a string/],
  ['a key of 10 MB', { entries: [[...text('', 10e6)]], dataBytes: 11e6 }, 'TOO_LARGE', /limit is 65536/],
  [
    'a tensor name of 10 MB',
    { tensors: [{ name: text('', 10e6) }], dataBytes: 11e6 },
    'TOO_LARGE',
    /limit is 65536/,
  ],
  ['a name twice', { tensors: [{ dims: [8] }, { dims: [8], offset: 32 }] }, 'BAD_TENSOR', /two tensors/],
  ['five dimensions', { tensors: [{ dims: [1, 1, 1, 1, 1] }] }, 'BAD_TENSOR', /5 dimensions/],
  ['a dimension of 0', { tensors: [{ dims: [32, 0] }] }, 'BAD_TENSOR', /dimension of 0/],
  ['dimensions that overflow', { tensors: [{ dims: [2n ** 40n, 2n ** 40n] }] }, 'BAD_TENSOR', /too large/],
  ['a dimension of 2^64 - 1', { tensors: [{ dims: [2n ** 64n - 1n] }] }, 'BAD_TENSOR', /positive integers/],
  ['a row with a part of a block', { tensors: [{ dims: [48], type: 2 }] }, 'BAD_TENSOR', /multiple of 32/],
  ['an offset outside the file', { tensors: [{ offset: 4096 }] }, 'TRUNCATED', /the file has/],
  ['an offset of 2^63', { tensors: [{ offset: 2n ** 63n }] }, 'TRUNCATED', /the file has/],
  ['data that ends too soon', { tensors: [{ dims: [33] }] }, 'TRUNCATED', /incomplete/],
  ['a misaligned offset', { tensors: [{ dims: [8], offset: 8 }] }, 'BAD_TENSOR', /alignment 32/],
  [
    'overlapping tensors',
    { tensors: [{ dims: [16] }, { name: text('b'), dims: [8], offset: 32 }] },
    'BAD_TENSOR',
    /overlap/,
  ],
  ['a format that Quern does not read', { tensors: [{ type: 15 }] }, 'UNKNOWN_FORMAT', /q8_k/],
  ['a removed format', { tensors: [{ type: 31 }] }, 'UNKNOWN_FORMAT', /q4_0_4_4 \(removed/],
  ['an unknown format', { tensors: [{ type: 999 }] }, 'UNKNOWN_FORMAT', /ggml type 999/],
];

describe('hostile headers', () => {
  test.each(cases)('%s', (_, raw, code, message) => {
    const attempt = () => parseGguf(rawGguf(raw), { path: 'model.gguf' });
    expect(attempt).toThrow(FileError);
    expect(attempt).toThrow(
      expect.objectContaining({ code, path: 'model.gguf', message: expect.stringMatching(message) }),
    );
  });

  test('control characters of a name are removed from the message', () => {
    const raw = rawGguf({ tensors: [{ name: text('\u001b[31m\n'), type: 999 }] });
    expect(() => parseGguf(raw)).toThrow(/"\\u001b\[31m\\n"/);
  });
});

describe('hostile files', () => {
  const refuses = (path: string, code: FileErrorCode) =>
    expect(openGguf(path)).rejects.toMatchObject({ name: 'FileError', code, path });

  test('missing, a folder, empty', async () => {
    await refuses(scratch('none.gguf'), 'NOT_FOUND');
    await refuses(scratch('.'), 'NOT_A_FILE');
    await writeFile(scratch('empty.gguf'), '');
    await refuses(scratch('empty.gguf'), 'NOT_GGUF');
  });

  // Sparse files of a terabyte: the counts fit the file, so only the limits can stop them.
  test.each([
    ['strings', entry('k', 9, stringArray(10_000_000_000))],
    ['numbers', entry('k', 9, [...u32(10), ...u64(10_000_000_000)])],
    ['booleans', entry('k', 9, [...u32(7), ...u64(100_000_000)])],
    ['arrays', entry('k', 9, [...u32(9), ...u64(100_000)])],
    ['one string', entry('k', 8, text('', 500_000_000_000))],
    ['tensors', []],
  ])('a terabyte of %s costs little memory', async (name, bytes) => {
    const path = scratch(`${name}.gguf`);
    const raw = bytes.length > 0 ? { entries: [bytes] } : { tensorCount: 10_000_000_000 };
    await writeFile(path, rawGguf(raw));
    await truncate(path, 2 ** 40);
    const before = process.memoryUsage().rss;
    const error = await openGguf(path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FileError);
    expect((error as FileError).code).toBe('TOO_LARGE');
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 28);
  });
});
