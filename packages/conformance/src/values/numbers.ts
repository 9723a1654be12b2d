import {
  bf16ToF32,
  type DType,
  elementCount,
  f16ToF32,
  f32ToBf16,
  f32ToF16,
  type HostArray,
  headScale,
  type Numbers,
  type SampleOperand,
  scaleBytes,
  type Weight,
} from '@quern/core';

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

/** `value` rounded to a dtype or dense format. */
export function stored(format: string, value: number): number {
  if (isHalf(format)) return halves[format].widen(halves[format].narrow(Math.fround(value)));
  return format === 'f32' ? Math.fround(value) : value;
}

/** Floats as the bit patterns of a 16-bit dtype. */
export const bitsOf = (values: ArrayLike<number>, format: keyof typeof halves): Uint16Array =>
  Uint16Array.from(values, (value) => halves[format].narrow(Math.fround(value)));

/** The array of an operand's values; 16-bit floats as bit patterns. */
export function hostValues({ format, values }: SampleOperand): Int32Array | Float32Array | Uint16Array {
  if (isHalf(format)) return bitsOf(values, format);
  return format === 'i32' ? Int32Array.from(values) : Float32Array.from(values);
}

/** The array of a cache buffer, which may also be i8. */
export const bufferValues = (operand: SampleOperand): HostArray =>
  operand.format === 'i8' ? Int8Array.from(operand.values) : hostValues(operand);

export const bytesOf = (array: HostArray): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** The values that kernel and definition receive: as stored. */
export function received({ shape, format, values, bytes, numbers }: Operand): Numbers {
  if (numbers) return numbers;
  if (format === 'i32') return { shape, data: Int32Array.from(values) };
  const data = Float64Array.from(values, (value) => (bytes ? value : stored(format, value)));
  return { shape, data };
}

/** Widens values read back. */
export function numbersOf(array: HostArray, dtype: DType, shape: readonly number[]): Numbers {
  if (isHalf(dtype)) return { shape, data: Float64Array.from(array, halves[dtype].widen) };
  return { shape, data: dtype === 'i32' ? Int32Array.from(array) : Float64Array.from(array) };
}

/**
 * Numbers of a cache buffer, [blocks, blockSize, Hk, d], and the magnitude for the tolerance of each: with scales, the
 * largest of its head.
 */
export function cachedNumbers(
  format: string,
  buffer: Numbers,
): { numbers: Numbers; reach: ArrayLike<number> } {
  if (format !== 'i8') return { numbers: buffer, reach: buffer.data.map(Math.abs) };
  const width = buffer.shape[buffer.shape.length - 1]!;
  const d = width - scaleBytes;
  const heads = buffer.data.length / width;
  const [data, reach] = [new Float64Array(heads * d), new Float64Array(heads * d)];
  for (let head = 0; head < heads; head++) {
    const scale = headScale(buffer.data, head * width, d);
    for (let i = 0; i < d; i++) {
      data[head * d + i] = buffer.data[head * width + i]! * scale;
      reach[head * d + i] = 127 * scale;
    }
  }
  return { numbers: { shape: [...buffer.shape.slice(0, -1), d], data }, reach };
}

/** Zeros for a result. */
export function emptyNumbers(shape: readonly number[], dtype: string): Numbers {
  const count = elementCount(shape);
  return { shape, data: dtype === 'i32' ? new Int32Array(count) : new Float64Array(count) };
}
