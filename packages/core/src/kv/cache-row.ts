import { e4m3Values, f32ToE4m3, largestE4m3, roundHalfEven } from '../e4m3.js';
import type { Numbers } from '../op/numbers.js';

/** Element types of cache buffers. i8 and u8 (bits of E4M3) have a scale per head. */
export const cacheDtypes = ['f32', 'f16', 'bf16', 'i8', 'u8'] as const;

/** Bytes after the d elements of a head in a cache of i8 or u8: the scale, an f32, little-endian. */
export const scaleBytes = 4;

/** An element type with scales: its largest number, and an element from and to bits. */
interface Code {
  readonly largest: number;
  readonly encode: (x: number) => number;
  readonly decode: (bits: number) => number;
}

const codes: Readonly<Record<string, Code | undefined>> = {
  i8: {
    largest: 127,
    encode: (x) => Math.max(-127, Math.min(127, roundHalfEven(x))) + 0, // no −0
    decode: (bits) => bits,
  },
  u8: { largest: largestE4m3, encode: f32ToE4m3, decode: (bits) => e4m3Values[bits]! },
};

/** Elements of a head in a cache slot: d; i8, u8: d plus the bytes of its scale. */
export const cacheRow = (dtype: string, headDim: number): number => headDim + (codes[dtype] ? scaleBytes : 0);

const scale = new Float32Array(1);
const scaleAsBytes = { i8: new Int8Array(scale.buffer), u8: new Uint8Array(scale.buffer) };

/** The scale's bytes as elements of the cache. */
const scaleElements = (dtype: string) => (dtype === 'i8' ? scaleAsBytes.i8 : scaleAsBytes.u8);

function codeOf(dtype: string): Code {
  const code = codes[dtype];
  if (!code) throw new TypeError(`a cache of ${dtype} has no scales`);
  return code;
}

/**
 * Writes a head of a cache of i8 or u8. scale = max|x| / largest as f32, largest = 127 or (E4M3) 448; element = x / scale
 * as f32, rounded to the nearest element (ties to even), clamped to ±largest (needed for a subnormal scale). Scale 0:
 * elements 0. A head with a NaN or infinity gets elements 0, scale NaN.
 */
export function putHead(
  dtype: string,
  x: Numbers['data'],
  from: number,
  headDim: number,
  cache: Numbers['data'],
  at: number,
): void {
  const { largest, encode } = codeOf(dtype);
  let [top, finite] = [0, true];
  for (let i = 0; i < headDim; i++) {
    const magnitude = Math.abs(Math.fround(x[from + i]!));
    finite &&= Number.isFinite(magnitude);
    top = Math.max(top, magnitude);
  }
  scale[0] = finite ? top / largest : Number.NaN;
  const unit = scale[0]!;
  cache.set(scaleElements(dtype), at + headDim);
  for (let i = 0; i < headDim; i++)
    cache[at + i] = unit > 0 ? encode(Math.fround(Math.fround(x[from + i]!) / unit)) : 0;
}

/** The scale of a head of a cache of i8 or u8. */
export function headScale(dtype: string, cache: Numbers['data'], at: number, headDim: number): number {
  const bytes = scaleElements(dtype);
  for (let i = 0; i < scaleBytes; i++) bytes[i] = cache[at + headDim + i]!;
  return scale[0]!;
}

/** The largest number that a head of a cache of i8 or u8 can hold. */
export const headReach = (dtype: string, cache: Numbers['data'], at: number, headDim: number): number =>
  codeOf(dtype).largest * headScale(dtype, cache, at, headDim);

/** Numbers of a cache, [blocks, blockSize, Hk, d]: elements times scales. A cache without scales is returned as it is. */
export function cacheNumbers(cache: Numbers): Numbers {
  const code = codes[cache.dtype ?? ''];
  if (!code) return cache;
  const width = cache.shape[cache.shape.length - 1]!;
  const d = width - scaleBytes;
  const data = new Float64Array((cache.data.length / width) * d);
  for (let from = 0, to = 0; from < cache.data.length; from += width, to += d) {
    const factor = headScale(cache.dtype!, cache.data, from, d);
    for (let i = 0; i < d; i++) data[to + i] = code.decode(cache.data[from + i]!) * factor;
  }
  return { shape: [...cache.shape.slice(0, -1), d], data };
}
