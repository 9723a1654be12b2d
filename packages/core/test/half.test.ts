import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from '../src/index.js';

const all = Array.from({ length: 0x10000 }, (_, bits) => bits);

/** By the definition of IEEE 754 binary16. */
function f16Value(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? Number.NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

test('every f16 widens to its value', () => {
  for (const bits of all) if (!Object.is(f16ToF32(bits), f16Value(bits))) throw new Error(`f16 ${bits}`);
});

test('every bf16 widens to its value', () => {
  const view = new DataView(new ArrayBuffer(4));
  for (const bits of all) {
    view.setUint32(0, bits * 0x10000);
    if (!Object.is(bf16ToF32(bits), view.getFloat32(0))) throw new Error(`bf16 ${bits}`);
  }
});

test.each([
  ['f16', f16ToF32, f32ToF16],
  ['bf16', bf16ToF32, f32ToBf16],
] as const)('every %s comes back from its value; NaN stays NaN', (_name, widen, narrow) => {
  for (const bits of all) {
    const value = widen(bits);
    const back = narrow(value);
    if (Number.isNaN(value) ? !Number.isNaN(widen(back)) : back !== bits)
      throw new Error(`${bits} → ${back}`);
  }
});

/** Each 16-bit float's neighbours, the midpoints between them, and values just off the midpoints. */
test.each([
  ['f16', f16ToF32, f32ToF16, 0x7bff],
  ['bf16', bf16ToF32, f32ToBf16, 0x7f7f],
] as const)('%s rounds to nearest, ties to even', (_name, widen, narrow, largest) => {
  const bits = new Uint32Array(1);
  const float = new Float32Array(bits.buffer);
  const hair = (value: number, by: number) => {
    float[0] = value;
    bits[0]! += by;
    return float[0]!;
  };
  for (let low = 0; low < largest; low++) {
    const middle = (widen(low) + widen(low + 1)) / 2;
    if (Math.fround(middle) !== middle) continue; // the last bits of f32's own subnormals
    const even = low % 2 === 0 ? low : low + 1;
    const got = [middle, hair(middle, 1), hair(middle, -1)].map(narrow);
    if (got.join() !== [even, low + 1, low].join()) throw new Error(`between ${low} and ${low + 1}: ${got}`);
    if (narrow(-middle) !== (even | 0x8000)) throw new Error(`the negative middle after ${low}`);
  }
});

test('a too large value becomes infinite', () => {
  expect(f16ToF32(f32ToF16(65519.99))).toBe(65504);
  expect(f16ToF32(f32ToF16(65520))).toBe(Infinity);
  expect(f16ToF32(f32ToF16(-1e30))).toBe(-Infinity);
  expect(bf16ToF32(f32ToBf16(3.4e38))).toBe(Infinity);
  expect(bf16ToF32(f32ToBf16(-Infinity))).toBe(-Infinity);
});
