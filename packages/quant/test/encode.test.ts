import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import {
  decode,
  encode,
  encodeAll,
  formatNames,
  formats,
  isWritable,
  type WritableFormat,
} from '../src/index.js';
import { mulberry32 } from './mulberry32.js';
import { bitsOf, describeShared, readShared } from './shared-data.js';

const writable = formatNames.filter(isWritable);
const quantised = writable.filter((format) => formats[format].blockSize > 1);
const exact = writable.filter((format) => formats[format].blockSize === 1 && format !== 'f64');

/** Bits of a level: the greatest error is about half a step of the range. */
const levels: Partial<Record<WritableFormat, number>> = {
  q4_0: 16,
  q4_1: 16,
  q5_0: 32,
  q5_1: 32,
  q8_0: 256,
  q2_k: 4,
  q3_k: 8,
  q4_k: 16,
  q5_k: 32,
  q6_k: 64,
  iq4_nl: 16,
  iq4_xs: 16,
  mxfp4: 8,
};

function roundTrip(format: WritableFormat, x: Float32Array): Float32Array {
  const decoded = new Float32Array(x.length);
  decode(format, encodeAll(format, x), 0, decoded, 0, x.length);
  return decoded;
}

/** The folder has no vectors of these two formats. */
const hasVectors = (format: WritableFormat) => format !== 'mxfp4' && format !== 'iq4_xs';

// Bytes of llama.cpp's ggml_quantize_chunk without an importance matrix.
describeShared('ggml-quant-vectors', () => {
  test.each(quantised.filter(hasVectors))('%s gives the bytes of ggml', (format) => {
    const stem = `${format}_${formats[format].blockSize === 32 ? 64 : 512}_noim`;
    const input = new Float32Array(readShared('ggml-quant-vectors', `${stem}_input.bin`).buffer);
    const expected = readShared('ggml-quant-vectors', `${stem}_expected.bin`);
    expect(encodeAll(format, input)).toEqual(expected);
  });
});

test.each(exact)('%s: decoded values encode to the same bytes', (format) => {
  const src = Uint8Array.from({ length: 4096 }, (_, i) => ((i * 7919) % 120) | (i % 8 === 7 ? 128 : 0));
  const floats = new Float32Array(src.length / formats[format].blockBytes);
  decode(format, src, 0, floats, 0, floats.length);
  expect(floats.some(Number.isNaN)).toBe(false);
  expect(encodeAll(format, floats)).toEqual(src);
});

test.each(quantised)('%s: the error is within a step of the range', (format) => {
  const count = formats[format].blockSize;
  const values = fc.array(fc.float({ min: -4, max: 4, noNaN: true }), { minLength: count, maxLength: count });
  fc.assert(
    fc.property(values, (list) => {
      const x = Float32Array.from(list);
      const decoded = roundTrip(format, x);
      const reach = Math.max(...x.map(Math.abs));
      const step = (2 * reach) / (levels[format]! - 1);
      const errors = x.map((value, i) => Math.abs(decoded[i]! - value));
      expect(Math.max(...errors)).toBeLessThanOrEqual(1.6 * step + 1e-6);
    }),
    { seed: 3, numRuns: runs(50) },
  );
});

test.each(quantised)('%s: zeros stay zero, and non-finite input does not throw', (format) => {
  const count = formats[format].blockSize;
  expect(bitsOf(roundTrip(format, new Float32Array(count))).map((word) => word & 0x7fffffff)).toEqual(
    new Uint32Array(count),
  );
  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    roundTrip(format, new Float32Array(count).fill(odd));
    roundTrip(
      format,
      Float32Array.from({ length: count }, (_, i) => (i === 3 ? odd : i)),
    );
  }
});

test.each(writable)('%s: encoding writes only its own blocks', (format) => {
  const { blockSize, blockBytes } = formats[format];
  const x = Float32Array.from({ length: 1 + blockSize }, (_, i) => Math.sin(i));
  const dst = new Uint8Array(blockBytes + 2).fill(0xa5);
  encode(format, x, 1, dst, 1, blockSize);
  expect([dst[0], dst.at(-1)]).toEqual([0xa5, 0xa5]);
  expect(dst.slice(1, -1)).toEqual(encodeAll(format, x.slice(1)));
});

const weighted = quantised.filter((format) => format !== 'q8_0' && format !== 'mxfp4');
const sumsOf = (x: Float32Array, decoded: Float32Array, importance: Float32Array) =>
  x.reduce((sum, value, i) => sum + importance[i % importance.length]! * (value - decoded[i]!) ** 2, 0);

// Blocks of llama.cpp's ggml_quantize_chunk with an importance matrix.
describeShared('ggml-quant-vectors', () => {
  test.each(weighted.filter(hasVectors))('%s with importance gives the bytes of ggml', (format) => {
    const rowLength = formats[format].blockSize === 32 ? 64 : 512;
    const stem = `${format}_${rowLength}_im`;
    const x = new Float32Array(readShared('ggml-quant-vectors', `${stem}_input.bin`).buffer);
    const next = mulberry32(2);
    const importance = Float32Array.from(
      { length: rowLength },
      () => Math.abs((next() / 2 ** 32) * 2 - 1) + 1e-3,
    );
    const ours = new Uint8Array((x.length / formats[format].blockSize) * formats[format].blockBytes);
    encode(format, x, 0, ours, 0, x.length, importance);
    expect(ours).toEqual(readShared('ggml-quant-vectors', `${stem}_expected.bin`));
  });
});

test.each(weighted)('%s: important columns become more exact', (format) => {
  const rowLength = formats[format].blockSize;
  const x = Float32Array.from({ length: 8 * rowLength }, (_, i) => Math.sin(i * i) + 0.3 * Math.sin(7 * i));
  const importance = Float32Array.from({ length: rowLength }, (_, i) => (i % 5 === 0 ? 100 : 0.01));
  const [plain, better] = [new Uint8Array(encodeAll(format, x)), new Uint8Array(encodeAll(format, x).length)];
  encode(format, x, 0, better, 0, x.length, importance);
  const errorOf = (blocks: Uint8Array) => {
    const decoded = new Float32Array(x.length);
    decode(format, blocks, 0, decoded, 0, x.length);
    return sumsOf(x, decoded, importance);
  };
  expect(errorOf(better)).toBeLessThan(0.99 * errorOf(plain));
});

test('an importance of another length than the rows is refused', () => {
  const x = new Float32Array(96);
  expect(() => encode('q4_0', x, 0, new Uint8Array(54), 0, 96, new Float32Array(64))).toThrow(/rows of 64/);
  expect(() => encode('q4_0', x, 0, new Uint8Array(54), 0, 96, new Float32Array(48))).toThrow(
    /multiple of 32/,
  );
});
