import type { ByteWriter } from './byte-writer.js';
import {
  isNumeric,
  type MetadataType,
  type MetadataValue,
  metadataTypeIds,
  type NumericArray,
  type NumericType,
  numericArrays,
} from './metadata.js';

/** A metadata value with an explicit type: `{ type: 'float32', value: 10000 }`. */
export interface TypedMetadata {
  /** For `array`, the element type is inferred from the value. */
  readonly type: MetadataType;
  readonly value: MetadataValue;
}

/**
 * A metadata value to write. Without an explicit type: boolean → bool; string → string; integers → uint32, negative
 * ones int32, larger ones 64 bits; other numbers → float32; bigint → uint64 or int64; typed arrays → their own type;
 * arrays of integers → int32, larger ones int64; other arrays of numbers → float32.
 */
export type MetadataInput = MetadataValue | TypedMetadata;

/** Writes one key, type and value. @throws RangeError if the value does not fit its type. */
export function writeMetadataEntry(writer: ByteWriter, key: string, input: MetadataInput): void {
  const { type, value } = isTyped(input) ? input : { type: inferType(input), value: input };
  writer.string(key);
  writer.u32(metadataTypeIds[type]);
  writeValue(writer, type, value);
}

function isTyped(input: MetadataInput): input is TypedMetadata {
  return typeof input === 'object' && 'type' in input && 'value' in input;
}

function inferType(value: MetadataValue): MetadataType {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'bigint') return value < 0n ? 'int64' : 'uint64';
  if (typeof value !== 'number') return 'array';
  if (!Number.isSafeInteger(value)) return 'float32';
  if (value < 0) return value >= -(2 ** 31) ? 'int32' : 'int64';
  return value < 2 ** 32 ? 'uint32' : 'uint64';
}

function writeValue(writer: ByteWriter, type: MetadataType, value: MetadataValue): void {
  if (type === 'array' && typeof value === 'object') writeArray(writer, value);
  else if (type === 'string' && typeof value === 'string') writer.string(value);
  else if (type === 'bool' && typeof value === 'boolean') writer.bytes(Uint8Array.of(value ? 1 : 0));
  else if (isNumeric(type) && (typeof value === 'number' || typeof value === 'bigint')) {
    writer.bytes(numberBytes(type, value));
  } else throw new RangeError(`a ${typeof value} is not a ${type}`);
}

function writeArray(writer: ByteWriter, values: MetadataValue & object): void {
  const type = ArrayBuffer.isView(values) ? numericTypeOf(values) : elementType(values);
  writer.u32(metadataTypeIds[type]);
  writer.u64(values.length);
  if (ArrayBuffer.isView(values)) {
    writer.bytes(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  } else {
    for (const value of values) writeValue(writer, type, value);
  }
}

function numericTypeOf(values: NumericArray): NumericType {
  const types = Object.keys(numericArrays) as NumericType[];
  return types.find((type) => values instanceof numericArrays[type])!;
}

function elementType(values: readonly MetadataValue[]): MetadataType {
  if (values.length === 0) return 'string';
  if (!values.every((value) => typeof value === 'number')) return inferType(values[0]!);
  if (!values.every(Number.isSafeInteger)) return 'float32';
  return values.every((value) => value === (value | 0)) ? 'int32' : 'int64';
}

function numberBytes(type: NumericType, value: number | bigint): Uint8Array {
  if (type === 'float32') return new Uint8Array(Float32Array.of(Number(value)).buffer);
  if (type === 'float64') return new Uint8Array(Float64Array.of(Number(value)).buffer);
  const { BYTES_PER_ELEMENT } = numericArrays[type];
  const bits = 8 * BYTES_PER_ELEMENT;
  const whole = BigInt(value);
  const kept = type.startsWith('u') ? BigInt.asUintN(bits, whole) : BigInt.asIntN(bits, whole);
  if (kept !== whole) throw new RangeError(`${value} does not fit ${type}`);
  return new Uint8Array(BigUint64Array.of(BigInt.asUintN(64, whole)).buffer, 0, BYTES_PER_ELEMENT);
}
