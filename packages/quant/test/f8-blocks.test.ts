import { random } from '@quern/core/testing';
import { decodeF8, type F8Scales } from '../src/hugging-face/f8.js';
import { decodeF8Blocks, f8Blocks, hasF8Blocks, toF8Blocks } from '../src/index.js';

const next = random(3);
const [rows, columns] = [6, 384];
const finite = Uint8Array.from(
  { length: rows * columns },
  () => Math.floor(next() * 127) | (next() < 0.5 ? 0x80 : 0),
);

function scales(blockRows: number, blockColumns: number): F8Scales {
  const count = Math.ceil(rows / blockRows) * Math.ceil(columns / blockColumns);
  const values = Float32Array.from(
    { length: count },
    () => (next() - 0.3) * 2 ** Math.floor(next() * 200 - 140),
  );
  return { values, columns, blockRows, blockColumns };
}

const rewritten = (bytes: Uint8Array, first: number, of: F8Scales) => {
  const blocks = new Uint8Array((bytes.length / f8Blocks.blockSize) * f8Blocks.blockBytes);
  return toF8Blocks(bytes, blocks, first, of) ? blocks : undefined;
};

test.each([
  ['the matrix', rows, columns],
  ['a row', 1, columns],
  ['4 rows, 128 columns', 4, 128],
  ['1 row, 256 columns', 1, 256],
])('with a scale for %s: the bits that decoding gives', (_, blockRows, blockColumns) => {
  const of = scales(blockRows, blockColumns);
  for (const first of [0, 128, columns, 4 * columns + 256]) {
    const bytes = finite.subarray(first);
    const want = new Float32Array(bytes.length);
    decodeF8('f8_e4m3', bytes, want, first, of);
    const got = decodeF8Blocks(rewritten(bytes, first, of)!, want.length);
    expect(Buffer.compare(Buffer.from(got.buffer), Buffer.from(want.buffer))).toBe(0);
  }
});

test('NaN, and scales that are not finite or too large, have no such form', () => {
  const of = scales(rows, columns);
  expect(rewritten(finite, 0, of)).toBeDefined();
  for (const nan of [0x7f, 0xff]) expect(rewritten(finite.with(700, nan), 0, of)).toBeUndefined();
  for (const scale of [Number.NaN, Infinity, -Infinity, 2 ** 120])
    expect(rewritten(finite, 0, { ...of, values: Float32Array.of(scale) })).toBeUndefined();
});

test('each block needs one scale', () => {
  expect([hasF8Blocks(384, 128), hasF8Blocks(384, 384), hasF8Blocks(384, 500)]).toEqual([true, true, true]);
  expect([hasF8Blocks(384, 64), hasF8Blocks(384, 192), hasF8Blocks(320, 320)]).toEqual([false, false, false]);
});
