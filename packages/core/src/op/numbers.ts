/** Values of an operand for a definition. 16-bit floats are widened; an i8 cache stays as bytes. */
export interface Numbers {
  readonly shape: readonly number[];
  readonly data: Float64Array | Float32Array | Int32Array | Int8Array;
}
