import {
  bf16ToF32,
  cacheNumbers,
  type DType,
  elementCount,
  f16ToF32,
  f32ToBf16,
  f32ToF16,
  type HostArray,
  headReach,
  type Numbers,
  type SampleOperand,
  scaleBytes,
  type Weight,
} from '@quern/core';
import { mapped } from '@quern/core/testing';

/** An operand of a case. A quantised weight has its bytes; `values` are the decoded bytes. */
export interface Operand extends SampleOperand {
  readonly bytes?: Uint8Array;
  /** The operand in the form of the definition, if known already. */
  readonly numbers?: Numbers;
  /** The weight, if already loaded. */
  readonly loaded?: Weight;
}
export type Operands = Readonly<Record<string, Operand>>;

const halves = {
  f16: { narrow: f32ToF16, widen: f16ToF32 },
  bf16: { narrow: f32ToBf16, widen: bf16ToF32 },
} as const;

const isHalf = (format: string): format is keyof typeof halves => format in halves;

/** Rounds to a dtype or dense format. */
export function rounding(format: string): (value: number) => number {
  if (format === 'f32') return Math.fround;
  if (!isHalf(format)) return (value) => value;
  const { narrow, widen } = halves[format];
  return (value) => widen(narrow(Math.fround(value)));
}

/** `value` rounded to a dtype or dense format. */
export const stored = (format: string, value: number): number => rounding(format)(value);

/** Floats as the bit patterns of a 16-bit dtype. */
export const bitsOf = (values: ArrayLike<number>, format: keyof typeof halves): Uint16Array => {
  const { narrow } = halves[format];
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) bits[i] = narrow(Math.fround(values[i]!));
  return bits;
};

/** The array of an operand's values; 16-bit floats as bit patterns. */
export function hostValues({ format, values }: SampleOperand): Int32Array | Float32Array | Uint16Array {
  if (isHalf(format)) return bitsOf(values, format);
  return format === 'i32' ? new Int32Array(values) : new Float32Array(values);
}

/** The array of a cache buffer, which may also be i8 or u8. */
export function bufferValues(operand: SampleOperand): HostArray {
  if (operand.format === 'i8') return Int8Array.from(operand.values);
  return operand.format === 'u8' ? Uint8Array.from(operand.values) : hostValues(operand);
}

export const bytesOf = (array: HostArray): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** The values that kernel and definition receive: as stored. */
export function received({ shape, format, values, bytes, numbers }: Operand): Numbers {
  if (numbers) return numbers;
  if (format === 'i32') return { shape, data: new Int32Array(values) };
  const data = bytes ? new Float64Array(values) : mapped(values, rounding(format));
  return { shape, data, dtype: format };
}

/** Widens values read back. */
export function numbersOf(array: HostArray, dtype: DType, shape: readonly number[]): Numbers {
  if (isHalf(dtype)) return { shape, data: mapped(array, halves[dtype].widen) };
  return { shape, data: dtype === 'i32' ? new Int32Array(array) : new Float64Array(array), dtype };
}

/**
 * Numbers of a cache buffer, [blocks, blockSize, Hk, d], and the magnitude for the tolerance of each: with scales, the
 * largest that its head can hold.
 */
export function cachedNumbers(buffer: Numbers): { numbers: Numbers; reach: ArrayLike<number> } {
  const numbers = cacheNumbers(buffer);
  if (numbers === buffer) return { numbers, reach: buffer.data.map(Math.abs) };
  const d = numbers.shape[numbers.shape.length - 1]!;
  const head = (i: number) => Math.floor(i / d) * (d + scaleBytes);
  return { numbers, reach: numbers.data.map((_, i) => headReach(buffer.dtype!, buffer.data, head(i), d)) };
}

/** Zeros for a result. */
export function emptyNumbers(shape: readonly number[], dtype: string): Numbers {
  const count = elementCount(shape);
  return { shape, data: dtype === 'i32' ? new Int32Array(count) : new Float64Array(count) };
}
