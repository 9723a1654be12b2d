/** Element types of tensors and buffers, in the order of their numbers in plans. Weights have formats instead (see weight.ts). */
export const dtypes = ['f32', 'f16', 'bf16', 'i32', 'i8', 'u8'] as const;
export type DType = (typeof dtypes)[number];

/** Bytes per element. */
export const dtypeBytes = { f32: 4, f16: 2, bf16: 2, i32: 4, i8: 1, u8: 1 } as const satisfies Record<
  DType,
  number
>;

/** The host's array for each dtype; f16 and bf16 travel as their 16-bit patterns. */
export interface HostArrays {
  f32: Float32Array;
  f16: Uint16Array;
  bf16: Uint16Array;
  i32: Int32Array;
  i8: Int8Array;
  u8: Uint8Array;
}
export type HostArray = HostArrays[DType];

const hostArrayTypes: {
  readonly [D in DType]: new (
    memory: ArrayBufferLike,
    at: number,
    length: number,
  ) => HostArrays[D];
} = {
  f32: Float32Array,
  f16: Uint16Array,
  bf16: Uint16Array,
  i32: Int32Array,
  i8: Int8Array,
  u8: Uint8Array,
};

/** `length` elements of memory from `byteOffset` on. `byteOffset` must be a multiple of the element size. */
export function hostArray(
  dtype: DType,
  memory: ArrayBufferLike,
  byteOffset: number,
  length: number,
): HostArray {
  return new hostArrayTypes[dtype](memory, byteOffset, length);
}

/** Shape and element type: core knows no more of a value before it is computed. */
export interface TensorSpec {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

export const elementCount = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);

export const byteLength = ({ shape, dtype }: TensorSpec): number => elementCount(shape) * dtypeBytes[dtype];

export const showShape = (shape: readonly number[]): string => `[${shape.join(', ')}]`;
