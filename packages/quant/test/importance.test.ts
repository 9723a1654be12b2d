import { writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import { FileError, QuantizeError, readImportance, writeGguf } from '../src/index.js';
import { scratch } from './scratch.js';

const i32 = (...numbers: number[]) => new Uint8Array(Int32Array.from(numbers).buffer);
const f32 = (...numbers: number[]) => new Uint8Array(Float32Array.from(numbers).buffer);
const name = (text: string) => Buffer.concat([i32(Buffer.byteLength(text)), Buffer.from(text)]);

/** As written by llama.cpp's older llama-imatrix: means times calls. */
const entries = [
  i32(2),
  name('blk.0.attn_q.weight'),
  i32(4, 3),
  f32(4, 8, 12),
  name('output.weight'),
  i32(0, 2),
  f32(5, 6),
];
const legacy = Buffer.concat([...entries, i32(17), name('some text.txt')]);

async function reading(bytes: Uint8Array) {
  const path = scratch('some.imatrix');
  await writeFile(path, bytes);
  return readImportance(path);
}

test('a .dat file gives the means, the text and the chunks', async () => {
  const matrix = await reading(legacy);
  expect(matrix.entries.get('blk.0.attn_q.weight')).toEqual(Float32Array.of(1, 2, 3));
  expect(matrix.entries.get('output.weight')).toEqual(Float32Array.of(5, 6));
  expect([matrix.chunks, matrix.dataset]).toEqual([17, 'some text.txt']);
  expect((await reading(Buffer.concat(entries))).dataset).toBeUndefined();
});

test('a GGUF file gives sums / counts, and 1 for experts without data', async () => {
  const path = scratch('imatrix.gguf');
  const tensor = (tensorName: string, shape: number[], values: number[]) => ({
    name: tensorName,
    shape,
    format: 'f32' as const,
    data: f32(...values),
  });
  await writeGguf(path, {
    metadata: { 'general.type': 'imatrix', 'imatrix.datasets': ['a.txt', 'b.txt'], 'imatrix.chunk_count': 9 },
    tensors: [
      tensor('blk.0.ffn_up_exps.weight.in_sum2', [2, 3], [2, 4, 6, 7, 8, 9]),
      tensor('blk.0.ffn_up_exps.weight.counts', [2, 1], [2, 0]),
    ],
  });
  const matrix = await readImportance(path);
  expect([...matrix.entries]).toEqual([['blk.0.ffn_up_exps.weight', Float32Array.of(1, 2, 3, 1, 1, 1)]]);
  expect([matrix.dataset, matrix.chunks]).toEqual(['a.txt, b.txt', 9]);
});

test('a GGUF file of a model is refused as importance matrix', async () => {
  const path = scratch('model.gguf');
  await writeGguf(path, { metadata: { 'general.type': 'model' }, tensors: [] });
  await expect(readImportance(path)).rejects.toThrow(/not of an importance matrix/);
});

test('a file cut anywhere is an error, or lacks only name and chunks of the text', async () => {
  const whole = Buffer.concat(entries).length;
  for (let length = 0; length < legacy.length; length++) {
    const outcome = await reading(legacy.subarray(0, length)).catch((error: unknown) => error);
    if (length === whole) expect(outcome).toHaveProperty('entries.size', 2);
    else expect(outcome).toBeInstanceOf(QuantizeError);
  }
});

test('for any changed byte, the reader returns or throws a coded error', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(legacy.length - 4), fc.integer(), async (at, value) => {
      const bytes = Buffer.from(legacy);
      bytes.writeInt32LE(value | 0, at);
      const outcome = await reading(bytes).catch((error: unknown) => error);
      if (outcome instanceof Error)
        expect(outcome instanceof QuantizeError || outcome instanceof FileError).toBe(true);
    }),
    { seed: 5, numRuns: runs(200) },
  );
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('an importance of %p is refused', async (value) => {
  const bytes = Buffer.concat([i32(1), name('a'), i32(1, 1), f32(value)]);
  await expect(reading(bytes)).rejects.toMatchObject({ code: 'BAD_IMPORTANCE' });
});
