/** Numbers of an operand, as a definition sees them; 16-bit floats arrive widened, an i8 cache as its bytes. */
export interface Numbers {
  readonly shape: readonly number[];
  readonly data: Float64Array | Float32Array | Int32Array | Int8Array;
}
