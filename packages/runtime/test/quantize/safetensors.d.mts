/** A tensor of f32. */
export interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** Writes tensors of f32. */
export function writeSafetensors(path: string, tensors: readonly Tensor[]): void;
