/** Values of an operand for a definition. 16-bit floats are widened; a cache with scales stays as bytes. */
export interface Numbers {
  readonly shape: readonly number[];
  readonly data: Float64Array | Float32Array | Int32Array | Int8Array | Uint8Array;
  /** Element type; needed for caches with scales: 'i8' or 'u8'. */
  readonly dtype?: string;
}
