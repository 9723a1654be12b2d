import {
  bf16ToF32,
  type DType,
  elementCount,
  f16ToF32,
  f32ToBf16,
  f32ToF16,
  type HostArray,
  type Numbers,
  type SampleOperand,
} from '@quern/core';

/** An operand of a case. A quantised weight brings its bytes; `values` are then what they decode to. */
export interface Operand extends SampleOperand {
  readonly bytes?: Uint8Array;
}
export type Operands = Readonly<Record<string, Operand>>;

const halves = {
  f16: { narrow: f32ToF16, widen: f16ToF32 },
  bf16: { narrow: f32ToBf16, widen: bf16ToF32 },
} as const;

const isHalf = (format: string): format is keyof typeof halves => format in halves;

/** `value` as a dtype or dense format stores it. */
export function stored(format: string, value: number): number {
  if (isHalf(format)) return halves[format].widen(halves[format].narrow(Math.fround(value)));
  return format === 'f32' ? Math.fround(value) : value;
}

/** The array that holds an operand's values; 16-bit floats as bit patterns. */
export function hostValues({ format, values }: SampleOperand): Int32Array | Float32Array | Uint16Array {
  if (isHalf(format)) return Uint16Array.from(values, (value) => halves[format].narrow(Math.fround(value)));
  return format === 'i32' ? Int32Array.from(values) : Float32Array.from(values);
}

export const bytesOf = (array: HostArray): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** What a kernel receives, and so what the definition receives: the values as stored. */
export function received({ shape, format, values, bytes }: Operand): Numbers {
  if (format === 'i32') return { shape, data: Int32Array.from(values) };
  const data = Float64Array.from(values, (value) => (bytes ? value : stored(format, value)));
  return { shape, data };
}

/** Widens what was read back. */
export function numbersOf(array: HostArray, dtype: DType, shape: readonly number[]): Numbers {
  if (isHalf(dtype)) return { shape, data: Float64Array.from(array, halves[dtype].widen) };
  return { shape, data: dtype === 'i32' ? Int32Array.from(array) : Float64Array.from(array) };
}

/** Room for a result. */
export function emptyNumbers(shape: readonly number[], dtype: string): Numbers {
  const count = elementCount(shape);
  return { shape, data: dtype === 'i32' ? new Int32Array(count) : new Float64Array(count) };
}
