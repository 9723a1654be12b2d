import fc from 'fast-check';
import {
  decode,
  encode,
  encodeAll,
  formatNames,
  formats,
  isWritable,
  type WritableFormat,
} from '../src/index.js';
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
  mxfp4: 8,
};

function roundTrip(format: WritableFormat, x: Float32Array): Float32Array {
  const decoded = new Float32Array(x.length);
  decode(format, encodeAll(format, x), 0, decoded, 0, x.length);
  return decoded;
}

// Bytes that llama.cpp's ggml_quantize_chunk made without an importance matrix.
describeShared('ggml-quant-vectors', () => {
  test.each(quantised.filter((format) => format !== 'mxfp4'))(
    '%s gives the bytes that ggml gives',
    (format) => {
      const stem = `${format}_${formats[format].blockSize === 32 ? 64 : 512}_noim`;
      const input = new Float32Array(readShared('ggml-quant-vectors', `${stem}_input.bin`).buffer);
      const expected = readShared('ggml-quant-vectors', `${stem}_expected.bin`);
      expect(encodeAll(format, input)).toEqual(expected);
    },
  );
});

test.each(exact)('%s: what was decoded encodes to the same bytes', (format) => {
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
    { seed: 3, numRuns: 50 },
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
