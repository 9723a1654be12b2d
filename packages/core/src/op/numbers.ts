/** Values of an operand for a definition. 16-bit floats are widened; a cache with scales stays as bytes. */
export interface Numbers {
  readonly shape: readonly number[];
  readonly data: Float64Array | Float32Array | Int32Array | Int8Array | Uint8Array;
  /** Element type; needed for caches with scales: 'i8' or 'u8'. */
  readonly dtype?: string;
}

/** `of` of each value. A loop: `Float64Array.from` with a function takes thirty times as long. */
export function mapped(
  values: ArrayLike<number>,
  of: (value: number, index: number) => number,
): Float64Array {
  const result = new Float64Array(values.length);
  for (let i = 0; i < result.length; i++) result[i] = of(values[i]!, i);
  return result;
}
