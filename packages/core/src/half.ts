// 16-bit floats as bit patterns: IEEE binary16 (f16) and bfloat16 (bf16). Narrowing rounds to nearest, ties to even.

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** Every f16 as f32 (256 KiB): decoding a row of f16 is one table read per element. */
const f16Table = makeF16Table();

function makeF16Table(): Float32Array {
  const table = new Uint32Array(0x10000);
  for (let half = 0; half < 0x10000; half++) {
    const sign = (half & 0x8000) << 16;
    const exponent = (half >> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0) {
      float[0] = fraction * 2 ** -24; // zero and subnormals
      table[half] = sign | bits[0]!;
    } else {
      const wide = exponent === 0x1f ? 0xff : exponent + 112; // 112 = 127 - 15, the difference of the biases
      table[half] = sign | (wide << 23) | (fraction << 13);
    }
  }
  return new Float32Array(table.buffer);
}

/** The value of the f16 with these 16 bits. Exact, including subnormals, infinities and NaN. */
export function f16ToF32(half: number): number {
  return f16Table[half & 0xffff]!;
}

/** The 16 bits of the f16 nearest to `value` (taken as an f32), ties to even; beyond ±65504 it becomes infinite. */
export function f32ToF16(value: number): number {
  float[0] = value;
  const sign = (bits[0]! >>> 16) & 0x8000;
  const magnitude = bits[0]! & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | ((magnitude >> 13) & 0x1ff); // a quiet NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // 65520 and above round to infinity
  if (magnitude < 0x38800000) {
    float[0] = Math.abs(value) + 0.5; // below 2^-14: the spacing of f32 at 0.5 is that of f16 subnormals, 2^-24
    return sign | (bits[0]! - 0x3f000000);
  }
  const rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | ((rounded - 0x38000000) >> 13);
}

/** The value of the bf16 with these 16 bits: the upper half of an f32. */
export function bf16ToF32(half: number): number {
  bits[0] = half << 16;
  return float[0]!;
}

/** The 16 bits of the bf16 nearest to `value` (taken as an f32), ties to even; NaN stays NaN. */
export function f32ToBf16(value: number): number {
  float[0] = value;
  const wide = bits[0]!;
  if ((wide & 0x7fffffff) > 0x7f800000) return (wide >>> 16) | 0x40; // a quiet NaN
  return (wide + 0x7fff + ((wide >>> 16) & 1)) >>> 16;
}
