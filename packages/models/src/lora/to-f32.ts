import { decode } from '@quern/quant';
import type { DenseMatrix } from './adapter-file.js';

/** factor · matrix as bytes of f32. */
export function toF32({ shape: [rows, columns], format, bytes }: DenseMatrix, factor: number): Uint8Array {
  const values = new Float32Array(rows * columns);
  decode(format, bytes, 0, values, 0, values.length);
  if (factor !== 1) for (let i = 0; i < values.length; i++) values[i] = values[i]! * factor;
  return new Uint8Array(values.buffer);
}
