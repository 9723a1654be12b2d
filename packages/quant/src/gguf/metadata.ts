/** Scalar types of GGUF metadata, with their numbers in the file. */
export const metadataTypeIds = {
  uint8: 0,
  int8: 1,
  uint16: 2,
  int16: 3,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  array: 9,
  uint64: 10,
  int64: 11,
  float64: 12,
} as const;

/** GGUF's name for the type of a metadata value. */
export type MetadataType = keyof typeof metadataTypeIds;

const typeNames = new Map<number, MetadataType>(
  Object.entries(metadataTypeIds).map(([name, id]) => [id, name as MetadataType]),
);

/** The metadata type with this number, or undefined. */
export function metadataTypeOf(id: number): MetadataType | undefined {
  return typeNames.get(id);
}

/** The typed array for each numeric type. */
export const numericArrays = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} as const;

/** A numeric metadata type. */
export type NumericType = keyof typeof numericArrays;

/** An array of numbers in metadata, in the file's element type. */
export type NumericArray = InstanceType<(typeof numericArrays)[NumericType]>;

/** Whether `type` is a number of any width. */
export function isNumeric(type: MetadataType): type is NumericType {
  return Object.hasOwn(numericArrays, type);
}

/**
 * A metadata value. 64-bit integers are numbers if exact, otherwise bigint. Arrays of numbers are typed arrays. Arrays
 * of arrays nest.
 */
export type MetadataValue =
  | number
  | bigint
  | boolean
  | string
  | NumericArray
  | readonly string[]
  | readonly boolean[]
  | readonly MetadataValue[];
