import type { Numbers } from '../op/numbers.js';

/** Element types of cache buffers. */
export const cacheDtypes = ['f32', 'f16', 'bf16', 'i8'] as const;

/** Bytes after the d elements of a head in an i8 cache: the scale, an f32, little-endian. */
export const scaleBytes = 4;

/** Elements of a head in a cache slot: d; i8: d plus the bytes of its scale. */
export const cacheRow = (dtype: string, headDim: number): number =>
  headDim + (dtype === 'i8' ? scaleBytes : 0);

const scale = new Float32Array(1);
const scaleAsBytes = new Int8Array(scale.buffer);

/** The nearest whole number, ties to even. */
function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

/**
 * Writes a head of an i8 cache. scale = max|x| / 127 as f32; element = x / scale as f32, rounded to the nearest whole
 * number (ties to even), clamped to ±127 (needed for a subnormal scale). Scale 0: elements 0. A head with a NaN or
 * infinity gets scale NaN.
 */
export function putHead(
  x: Numbers['data'],
  from: number,
  headDim: number,
  cache: Numbers['data'],
  at: number,
): void {
  let [top, finite] = [0, true];
  for (let i = 0; i < headDim; i++) {
    const magnitude = Math.abs(Math.fround(x[from + i]!));
    finite &&= Number.isFinite(magnitude);
    top = Math.max(top, magnitude);
  }
  scale[0] = finite ? top / 127 : Number.NaN;
  for (let i = 0; i < scaleBytes; i++) cache[at + headDim + i] = scaleAsBytes[i]!;
  const unit = scale[0]!;
  for (let i = 0; i < headDim; i++) {
    const steps = unit > 0 ? roundHalfEven(Math.fround(Math.fround(x[from + i]!) / unit)) : 0;
    cache[at + i] = Math.max(-127, Math.min(127, steps)) + 0; // no −0
  }
}

/** The scale of a head of an i8 cache. */
export function headScale(cache: Numbers['data'], at: number, headDim: number): number {
  for (let i = 0; i < scaleBytes; i++) scaleAsBytes[i] = cache[at + headDim + i]!;
  return scale[0]!;
}
