import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import { FileError, openSafetensors } from '../src/index.js';
import { scratch } from './scratch.js';
import { describeShared, filesIn, shared } from './shared-data.js';

/** The bytes of a safetensors file. */
function safetensors(header: unknown, dataBytes: number, headerText = JSON.stringify(header)): Buffer {
  const text = Buffer.from(headerText);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(dataBytes)]);
}

async function put(name: string, bytes: string | Uint8Array): Promise<string> {
  await mkdir(dirname(scratch(name)), { recursive: true });
  await writeFile(scratch(name), bytes);
  return scratch(name);
}

const tensor = (begin: number, end: number, shape = [(end - begin) / 4], dtype = 'F32') => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});

test('names, shapes, dtypes and places', async () => {
  const header = {
    __metadata__: { format: 'pt' },
    b: tensor(8, 20, [2, 3], 'BF16'),
    a: tensor(0, 8, [1], 'I64'),
    z: tensor(20, 20, [0]),
  };
  const path = await put('one.safetensors', safetensors(header, 20));
  const file = await openSafetensors(path);
  const start = 8 + Buffer.byteLength(JSON.stringify(header));
  expect(file).toEqual({
    metadata: new Map([['format', 'pt']]),
    paths: [path],
    tensors: [
      { name: 'a', shape: [1], dtype: 'i64', path, offset: start, byteLength: 8 },
      { name: 'b', shape: [2, 3], dtype: 'bf16', path, offset: start + 8, byteLength: 12 },
      { name: 'z', shape: [0], dtype: 'f32', path, offset: start + 20, byteLength: 0 },
    ],
  });
});

describeShared('tiny-hf', () => {
  test.each(filesIn('tiny-hf', '.safetensors'))('%s opens', async (name) => {
    const file = await openSafetensors(shared('tiny-hf', name));
    expect(file.tensors.length).toBeGreaterThan(0);
  });

  test('shards and single file hold the same tensors', async () => {
    const contents = async (name: string) => {
      const { tensors } = await openSafetensors(shared('tiny-hf', name));
      const values = tensors.map(async ({ name, shape, path, offset, byteLength }) => {
        const bytes = (await readFile(path)).subarray(offset, offset + byteLength);
        return [name, { shape, bytes: bytes.toString('hex') }] as const;
      });
      return new Map((await Promise.all(values)).sort(([a], [b]) => (a < b ? -1 : 1)));
    };
    expect(await contents('tiny_llama.safetensors.index.json')).toEqual(
      await contents('tiny_llama.safetensors'),
    );
  });
});

test('a folder opens by its model file or index', async () => {
  await put('folder/model.safetensors', safetensors({ a: tensor(0, 4) }, 4));
  expect((await openSafetensors(scratch('folder'))).paths).toEqual([scratch('folder/model.safetensors')]);
  await put('sharded/x.safetensors', safetensors({ a: tensor(0, 4) }, 4));
  await put('sharded/model.safetensors.index.json', JSON.stringify({ weight_map: { a: 'x.safetensors' } }));
  expect((await openSafetensors(scratch('sharded'))).paths).toEqual([scratch('sharded/x.safetensors')]);
  await mkdir(scratch('bare'), { recursive: true });
  await expect(openSafetensors(scratch('bare'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

const deep = `{"a":${'['.repeat(100)}${']'.repeat(100)}}`;
const hostile: [string, Buffer, string][] = [
  ['an empty file', Buffer.alloc(0), 'NOT_SAFETENSORS'],
  ['a header of 2^60 bytes', Buffer.from(BigUint64Array.of(2n ** 60n).buffer), 'NOT_SAFETENSORS'],
  ['a header beyond the file', Buffer.from(BigUint64Array.of(1000n).buffer), 'TRUNCATED'],
  ['no JSON object', safetensors(null, 0, '[1, 2]'), 'NOT_SAFETENSORS'],
  ['broken JSON', safetensors(null, 0, '{"a":'), 'BAD_HEADER'],
  ['deep JSON', safetensors(null, 0, deep), 'BAD_HEADER'],
  ['metadata that is not text', safetensors({ __metadata__: { a: 1 } }, 0), 'BAD_HEADER'],
  ['a tensor that is not an object', safetensors({ a: 1 }, 0), 'BAD_TENSOR'],
  ['an unknown dtype', safetensors({ a: tensor(0, 4, [1], 'Q4_K') }, 4), 'UNKNOWN_FORMAT'],
  ['a negative dimension', safetensors({ a: tensor(0, 4, [-1]) }, 4), 'BAD_TENSOR'],
  ['a shape that overflows', safetensors({ a: tensor(0, 4, [2 ** 40, 2 ** 40]) }, 4), 'BAD_TENSOR'],
  ['a shape of another size', safetensors({ a: tensor(0, 8, [3]) }, 8), 'BAD_TENSOR'],
  ['offsets backwards', safetensors({ a: tensor(8, 0, [2]) }, 8), 'BAD_TENSOR'],
  ['overlapping tensors', safetensors({ a: tensor(0, 8), b: tensor(4, 12) }, 12), 'BAD_TENSOR'],
  ['a hole', safetensors({ a: tensor(0, 4), b: tensor(8, 12) }, 12), 'BAD_TENSOR'],
  ['data cut off', safetensors({ a: tensor(0, 8) }, 7), 'TRUNCATED'],
  ['data left over', safetensors({ a: tensor(0, 8) }, 9), 'BAD_HEADER'],
];

test.each(hostile)('%s', async (_, bytes, code) => {
  const path = await put('hostile.safetensors', bytes);
  const refusal = openSafetensors(path);
  await expect(refusal).rejects.toBeInstanceOf(FileError);
  await expect(refusal).rejects.toMatchObject({ code, path });
});

const indexes: [string, string, string][] = [
  ['no weight_map', '{}', 'BAD_SPLIT'],
  ['null', 'null', 'BAD_SPLIT'],
  ['broken JSON', '{', 'BAD_SPLIT'],
  ['deep JSON', deep, 'BAD_SPLIT'],
  ['a shard in another folder', '{"weight_map":{"a":"../x.safetensors"}}', 'BAD_SPLIT'],
  ['a shard by its whole path', '{"weight_map":{"a":"/etc/passwd"}}', 'BAD_SPLIT'],
  ['a shard by a Windows path', '{"weight_map":{"a":"..\\\\x.safetensors"}}', 'BAD_SPLIT'],
  ['a shard that is a folder', '{"weight_map":{"a":".."}}', 'NOT_A_FILE'],
  ['a shard that is a number', '{"weight_map":{"a":7}}', 'BAD_SPLIT'],
  ['a shard that is missing', '{"weight_map":{"a":"none.safetensors"}}', 'NOT_FOUND'],
  ['a tensor missing in its shard', '{"weight_map":{"a":"x.safetensors","b":"x.safetensors"}}', 'BAD_SPLIT'],
];

test.each(indexes)('an index with %s', async (_, json, code) => {
  await put('x.safetensors', safetensors({ a: tensor(0, 4) }, 4));
  const refusal = openSafetensors(await put('model.safetensors.index.json', json));
  await expect(refusal).rejects.toBeInstanceOf(FileError);
  await expect(refusal).rejects.toMatchObject({ code });
});

test('changed bytes give a FileError or a valid result', async () => {
  const bytes = safetensors({ a: tensor(0, 4), b: tensor(4, 12, [2, 1]) }, 12);
  const edits = fc.array(fc.tuple(fc.nat(bytes.length - 13), fc.nat(255)), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(edits, async (list) => {
      const changed = Buffer.from(bytes);
      for (const [at, value] of list) changed[at] = value;
      const outcome = await openSafetensors(await put('changed.safetensors', changed)).catch(
        (error: unknown) => error,
      );
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(FileError);
    }),
    { seed: 17, numRuns: runs(300) },
  );
});

test('a file cut off at any byte gives a FileError', async () => {
  const bytes = safetensors({ a: tensor(0, 4), b: tensor(4, 12, [2, 1]) }, 12);
  for (let length = 0; length < bytes.length; length++)
    await expect(
      openSafetensors(await put('cut.safetensors', bytes.subarray(0, length))),
    ).rejects.toBeInstanceOf(FileError);
});
