import { e4m3Values, f16ToF32 } from '@quern/core';

/**
 * Values of 8-bit floats by their bits: E4M3 without infinities, and E5M2, the upper half of an
 * f16.
 */
export const f8Values = {
  f8_e4m3: e4m3Values,
  f8_e5m2: Float32Array.from({ length: 256 }, (_, bits) => f16ToF32(bits << 8)),
} as const satisfies Record<string, Float32Array>;

/** An 8-bit float that Quern reads. */
export type F8Format = keyof typeof f8Values;

export function isF8Format(format: string): format is F8Format {
  return Object.hasOwn(f8Values, format);
}

/** Scales of the blocks of a matrix, row by row. */
export interface F8Scales {
  readonly values: Float32Array;
  /** Columns of the matrix. */
  readonly columns: number;
  readonly blockRows: number;
  readonly blockColumns: number;
}

/** The scale of element `i` of the matrix. */
export function scaleOf({ values, columns, blockRows, blockColumns }: F8Scales, i: number): number {
  const acrossScales = Math.ceil(columns / blockColumns);
  const row = Math.floor(i / columns);
  return values[Math.floor(row / blockRows) * acrossScales + Math.floor((i % columns) / blockColumns)]!;
}

/** Elements of a matrix from element `first` on, one byte each, times the scales of their blocks. */
export function decodeF8(
  format: F8Format,
  bytes: Uint8Array,
  dst: Float32Array,
  first: number,
  scales: F8Scales,
): void {
  const numbers = f8Values[format];
  const { columns, blockColumns } = scales;
  for (let i = 0; i < dst.length; ) {
    const column = (first + i) % columns;
    const scale = scaleOf(scales, first + i);
    const run = Math.min(columns - column, blockColumns - (column % blockColumns)); // elements with one scale
    for (const end = Math.min(dst.length, i + run); i < end; i++) dst[i] = numbers[bytes[i]!]! * scale;
  }
}
