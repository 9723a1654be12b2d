import { awqWeightsAsGptq, awqZerosAsGptq } from '../src/hugging-face/awq.js';
import { f8Values } from '../src/index.js';

describe('8-bit floats', () => {
  const bits = Array.from({ length: 256 }, (_, i) => i);

  /** Value by IEEE's rule for a float of 1 + exponent + fraction bits. */
  function ieee(byte: number, fractionBits: number): number {
    const bias = fractionBits === 3 ? 7 : 15;
    const exponent = Math.floor((byte % 128) / 2 ** fractionBits);
    const fraction = (byte % 2 ** fractionBits) / 2 ** fractionBits;
    const magnitude = exponent ? (1 + fraction) * 2 ** (exponent - bias) : fraction * 2 ** (1 - bias);
    return byte < 128 ? magnitude : -magnitude;
  }

  test('E4M3 has no infinities, and NaN if all bits are set', () => {
    const finite = bits.filter((byte) => byte % 128 !== 127);
    expect(finite.map((byte) => f8Values.f8_e4m3[byte])).toEqual(finite.map((byte) => ieee(byte, 3)));
    expect(Math.max(...finite.map((byte) => f8Values.f8_e4m3[byte]!))).toBe(448);
    expect([f8Values.f8_e4m3[127], f8Values.f8_e4m3[255]]).toEqual([Number.NaN, Number.NaN]);
  });

  test('E5M2 has infinities and NaN', () => {
    const finite = bits.filter((byte) => byte % 128 < 124);
    expect(finite.map((byte) => f8Values.f8_e5m2[byte])).toEqual(finite.map((byte) => ieee(byte, 2)));
    expect(f8Values.f8_e5m2[124]).toBe(Number.POSITIVE_INFINITY);
    expect(f8Values.f8_e5m2[252]).toBe(Number.NEGATIVE_INFINITY);
    expect(f8Values.f8_e5m2[125]).toBe(Number.NaN);
  });
});

describe('AWQ as GPTQ', () => {
  // AutoAWQ: nibble i of a word is column order[i].
  const order = [0, 2, 4, 6, 1, 3, 5, 7];
  const awqWord = (columns: readonly number[]) =>
    order.reduce((word, column, i) => word | (columns[column]! << (4 * i)), 0);
  const natural = (values: readonly number[]) =>
    values.reduce((word, value, i) => word | (value << (4 * i)), 0);

  test('zero points are in column order', () => {
    const rows = [
      [0, 1, 2, 3, 4, 5, 6, 7],
      [15, 0, 8, 9, 3, 3, 12, 1],
    ];
    expect(awqZerosAsGptq(Int32Array.from(rows, awqWord))).toEqual(Int32Array.from(rows, natural));
  });

  test('weights are packed along K', () => {
    const [N, K] = [16, 8];
    const value = (k: number, n: number) => (7 * k + 3 * n + k * n) % 16;
    const packed = Int32Array.from({ length: (K * N) / 8 }, (_, i) => {
      const [k, first] = [Math.floor(i / (N / 8)), (i % (N / 8)) * 8];
      return awqWord(order.map((_, column) => value(k, first + column)));
    });
    const columns = Array.from({ length: N }, (_, n) => natural(order.map((_, k) => value(k, n))));
    expect(awqWeightsAsGptq(packed, N, K)).toEqual(Int32Array.from(columns));
  });
});
