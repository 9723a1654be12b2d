import type { DType } from '../dtype.js';
import type { BackendErrorCode } from '../error.js';
import { type cacheDtypes, cacheRow, putHead } from '../kv/cache-row.js';
import type { WeightFormat } from '../weight.js';

/** Values for one operand of a sample. `format` is a dtype for tensors and buffers, a dense format for weights. */
export interface SampleOperand {
  readonly shape: readonly number[];
  readonly format: DType | WeightFormat;
  readonly values: ArrayLike<number>;
}

export type SampleOperands = Readonly<Record<string, SampleOperand>>;

/** A case that a kernel must compute, for conformance tests and benchmarks. */
export interface Sample {
  readonly name: string;
  readonly operands: SampleOperands;
  readonly attributes: Readonly<Record<string, number>>;
}

/** A case that must be refused: at recording, or at run time (an index visible only to the device). */
export interface ErrorSample extends Sample {
  readonly code: BackendErrorCode;
  readonly when: 'record' | 'run';
}

// In the sandboxes of test frameworks a look-up of a global takes as long as the arithmetic.
const { imul, sqrt, log, cos, PI } = Math;

/** mulberry32 with 32 bits of state, enough for test data. Uniform in [0, 1). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = imul(state ^ (state >>> 15), state | 1);
    t ^= t + imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const count = (shape: readonly number[]) => shape.reduce((n, d) => n * d, 1);

/** Normally distributed values (Box–Muller), rounded to float32. */
export function normal(seed: number, shape: readonly number[], deviation = 1): SampleOperand {
  const next = random(seed);
  const values = new Float32Array(count(shape));
  for (let i = 0; i < values.length; i++)
    values[i] = deviation * sqrt(-2 * log(1 - next())) * cos(2 * PI * next());
  return { shape, format: 'f32', values };
}

/** The same values in another dtype or dense format. The maker of the operand rounds them. */
export const as = (format: DType | WeightFormat, operand: SampleOperand): SampleOperand => ({
  ...operand,
  format,
});

/** The same operand with other values at some indices. */
export function changed(operand: SampleOperand, put: Readonly<Record<number, number>> = {}): SampleOperand {
  const values = Float32Array.from(operand.values);
  for (const [index, value] of Object.entries(put)) values[Number(index)] = value;
  return { ...operand, values };
}

/** Numbers [blocks, blockSize, Hk, d] as a cache of this dtype holds them. */
export function inCache(dtype: (typeof cacheDtypes)[number], operand: SampleOperand): SampleOperand {
  const shape = operand.shape.slice(0, -1);
  const headDim = operand.shape[operand.shape.length - 1]!;
  const width = cacheRow(dtype, headDim);
  if (width === headDim) return as(dtype, operand);
  const values = new (dtype === 'i8' ? Int8Array : Uint8Array)(count(shape) * width);
  const numbers = Float32Array.from(operand.values);
  for (let head = 0; head < count(shape); head++)
    putHead(dtype, numbers, head * headDim, headDim, values, head * width);
  return { shape: [...shape, width], format: dtype, values };
}

/** Integers in [0, below). */
export function integers(seed: number, shape: readonly number[], below: number): SampleOperand {
  const next = random(seed);
  const values = Int32Array.from({ length: count(shape) }, () => Math.floor(next() * below));
  return { shape, format: 'i32', values };
}

export const ints = (
  values: readonly number[],
  shape: readonly number[] = [values.length],
): SampleOperand => ({
  shape,
  format: 'i32',
  values: Int32Array.from(values),
});

export const floats = (
  values: readonly number[],
  shape: readonly number[] = [values.length],
): SampleOperand => ({
  shape,
  format: 'f32',
  values: Float32Array.from(values),
});

export const zeros = (shape: readonly number[], format: DType = 'f32'): SampleOperand => ({
  shape,
  format,
  values: new Float32Array(count(shape)),
});
