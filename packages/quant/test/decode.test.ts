import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import {
  byteLength,
  decode,
  decodeRows,
  FormatError,
  formatNames,
  formats,
  type GgufFormat,
} from '../src/index.js';
import { element } from './definitions.js';

const blocksOf = (format: GgufFormat, blocks: number) => {
  const length = blocks * formats[format].blockBytes;
  return fc.uint8Array({ minLength: length, maxLength: length });
};

describe.each(formatNames)('%s', (format) => {
  const { blockSize, blockBytes } = formats[format];

  test('random blocks decode to the definition, bit for bit', () => {
    fc.assert(
      fc.property(blocksOf(format, 3), (src) => {
        const decoded = new Float32Array(3 * blockSize);
        decode(format, src, 0, decoded, 0, decoded.length);
        const wrong = decoded.findIndex((value, i) => {
          const block = src.subarray(Math.floor(i / blockSize) * blockBytes).subarray(0, blockBytes);
          return !Object.is(value, element[format](block, i % blockSize)); // distinguishes -0, and equates NaN
        });
        expect(wrong).toBe(-1);
      }),
      { seed: 7, numRuns: runs(60) },
    );
  });

  test('offsets are respected and no other element is written', () => {
    const src = Uint8Array.from({ length: 1 + 2 * blockBytes }, (_, i) => (i * 37) % 61);
    const dst = new Float32Array(2 * blockSize + 2).fill(77);
    decode(format, src, 1, dst, 1, 2 * blockSize);
    const plain = new Float32Array(2 * blockSize);
    decode(format, src.slice(1), 0, plain, 0, plain.length);
    expect([dst[0], dst.at(-1)]).toEqual([77, 77]);
    expect(dst.slice(1, -1)).toEqual(plain);
  });

  test('rows are slices of the decoded matrix', () => {
    const src = Uint8Array.from({ length: 6 * blockBytes }, (_, i) => (i * 41) % 59);
    const whole = decodeRows(format, src, 2 * blockSize, 0, 3);
    expect(decodeRows(format, src, 2 * blockSize, 1, 2)).toEqual(whole.slice(2 * blockSize));
    expect(() => decodeRows(format, src, 2 * blockSize, 2, 2)).toThrow(FormatError);
  });

  test('byteLength counts whole blocks', () => {
    expect(byteLength(format, [3, 2, 5 * blockSize])).toBe(30 * blockBytes);
    expect(() => byteLength(format, [3, 0])).toThrow(FormatError);
    expect(() => byteLength(format, [2 ** 40, 2 ** 40])).toThrow(FormatError);
    if (blockSize > 1) expect(() => byteLength(format, [blockSize, blockSize + 1])).toThrow(/not a multiple/);
    else expect(byteLength(format, [])).toBe(blockBytes);
  });

  test('lengths that do not fit are refused', () => {
    const dst = new Float32Array(blockSize);
    const src = new Uint8Array(blockBytes);
    expect(() => decode(format, src, 1, dst, 0, blockSize)).toThrow(FormatError);
    expect(() => decode(format, src, 0, dst, 1, blockSize)).toThrow(FormatError);
    expect(() => decode(format, src, 0, dst, 0, -blockSize)).toThrow(FormatError);
    expect(() => decode(format, src, 0, dst, 0, blockSize + 0.5)).toThrow(FormatError);
  });
});
