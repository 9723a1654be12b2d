import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from '@quern/core';
import fc from 'fast-check';
import { runs } from '../../../test-scope.js';

/** The value of an f16 by the definition of IEEE 754. */
function f16Value(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function bf16Value(half: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(0, half);
  return view.getFloat32(0);
}

/** The finite value nearest among two neighbouring bit patterns; ties to the even pattern. */
function nearer(value: number, low: number, high: number, toFloat: (half: number) => number): number {
  const [below, above] = [value - toFloat(low), toFloat(high) - value];
  if (below !== above) return below < above ? low : high;
  return low % 2 === 0 ? low : high;
}

const halves = Array.from({ length: 0x10000 }, (_, half) => half);

test('every f16 decodes to its value and encodes back to its bits', () => {
  expect(halves.filter((half) => !Object.is(f16ToF32(half), f16Value(half)))).toEqual([]);
  expect(halves.filter((half) => f32ToF16(f16Value(half)) !== half && !Number.isNaN(f16Value(half)))).toEqual(
    [],
  );
});

test('every bf16 decodes to its value and encodes back to its bits', () => {
  expect(halves.filter((half) => !Object.is(bf16ToF32(half), bf16Value(half)))).toEqual([]);
  expect(
    halves.filter((half) => f32ToBf16(bf16Value(half)) !== half && !Number.isNaN(bf16Value(half))),
  ).toEqual([]);
});

test('halfway between two f16: the even one; off the middle: the nearer one', () => {
  const wrong = halves.slice(0, 0x7bff).filter((half) => {
    const middle = (f16Value(half) + f16Value(half + 1)) / 2;
    const even = half % 2 === 0 ? half : half + 1;
    const below = f32ToF16(Math.fround(middle * (1 - 2 ** -23)));
    const above = f32ToF16(Math.fround(middle * (1 + 2 ** -23)));
    const ties = f32ToF16(middle) === even && f32ToF16(-middle) === (even | 0x8000);
    return !(ties && below === half && above === half + 1);
  });
  expect(wrong).toEqual([]);
});

test('any float rounds to the nearest bf16', () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true, min: 0, max: 2 ** 127 }), (value) => {
      const low = new Uint32Array(Float32Array.of(value).buffer)[0]! >>> 16;
      expect(f32ToBf16(value)).toBe(nearer(value, low, low + 1, bf16Value));
    }),
    { seed: 1, numRuns: runs(2000) },
  );
});

test('overflow is infinite, NaN stays NaN', () => {
  expect(f32ToF16(65519.996)).toBe(0x7bff);
  expect(f32ToF16(65520)).toBe(0x7c00);
  expect(f32ToF16(-1e30)).toBe(0xfc00);
  expect(f32ToBf16(3.4e38)).toBe(0x7f80);
  expect(f16ToF32(f32ToF16(Number.NaN))).toBeNaN();
  expect(bf16ToF32(f32ToBf16(Number.NaN))).toBeNaN();
  const lowNaN = new Float32Array(Uint32Array.of(0xff800001).buffer)[0]!; // its payload lies in the dropped bits
  expect(bf16ToF32(f32ToBf16(lowNaN))).toBeNaN();
});
