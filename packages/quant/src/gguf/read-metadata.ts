import type { Cooperative } from '@quern/core';
import type { Cursor } from './cursor.js';
import { decodeStrings } from './decode-strings.js';
import {
  isNumeric,
  type MetadataType,
  type MetadataValue,
  metadataTypeOf,
  type NumericArray,
  type NumericType,
  numericArrays,
} from './metadata.js';

/** Maximum bytes of a key or tensor name. ggml itself allows 64 for tensors. */
export const maxNameBytes = 64 * 1024;

// Limits far above any real file. They keep a hostile file from using many times its size in memory.
const maxEntries = 65536;
const maxArrayLength = 2 ** 22;
const maxInnerArrays = 65536; // arrays within arrays, per value
const maxDepth = 16;

const leastEntryBytes = 8 + 4 + 1; // an empty key, a type, a one-byte value
const leastArrayBytes = 4 + 8;
const leastStringBytes = 8;

/** Metadata values and their file types, by key. */
export interface Metadata {
  readonly values: Map<string, MetadataValue>;
  readonly types: Map<string, MetadataType>;
}

/** Reads `count` key-value pairs. @throws FileError BAD_HEADER, TRUNCATED, TOO_LARGE. */
export function* readMetadata(cursor: Cursor, count: number): Cooperative<Metadata> {
  cursor.checkCount(count, leastEntryBytes, maxEntries, 'metadata entries');
  const values = new Map<string, MetadataValue>();
  const types = new Map<string, MetadataType>();
  for (let i = 0; i < count; i++) {
    cursor.reading = `the key of metadata entry ${i}`;
    const key = cursor.string(maxNameBytes);
    if (values.has(key)) cursor.fail('BAD_HEADER', `has the metadata key ${quote(key)} twice`);
    cursor.reading = `the metadata value ${quote(key)}`;
    const type = readType(cursor);
    types.set(key, type);
    values.set(key, yield* readValue(cursor, type));
  }
  return { values, types };
}

/** A name from a file for messages: quoted, without control characters, at most 80 characters. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 77)}...` : name);
}

function readType(cursor: Cursor): MetadataType {
  const id = cursor.u32();
  return metadataTypeOf(id) ?? cursor.fail('BAD_HEADER', `${cursor.reading} has the unknown type ${id}`);
}

function* readValue(cursor: Cursor, type: MetadataType): Cooperative<MetadataValue> {
  if (type === 'string') return cursor.string(Number.POSITIVE_INFINITY);
  if (type === 'bool') return readBooleans(cursor, 1)[0]!;
  if (type === 'array') return yield* readArray(cursor);
  return asNumber(readNumbers(cursor, type, 1)[0]!);
}

function asNumber(value: number | bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** @param inner counts nested arrays in the whole value */
function* readArray(cursor: Cursor, depth = 1, inner = { count: 0 }): Cooperative<MetadataValue> {
  if (depth > maxDepth)
    cursor.fail('BAD_HEADER', `${cursor.reading} nests arrays more than ${maxDepth} deep`);
  const type = readType(cursor);
  const count = cursor.u64();
  if (type === 'string') return yield* readStrings(cursor, count);
  if (type === 'bool') return readBooleans(cursor, count);
  if (isNumeric(type)) return readNumbers(cursor, type, count);
  cursor.checkCount(count, leastArrayBytes, maxInnerArrays - inner.count, 'arrays');
  inner.count += count;
  const arrays: MetadataValue[] = [];
  for (let i = 0; i < count; i++) arrays.push(yield* readArray(cursor, depth + 1, inner));
  return arrays;
}

function* readStrings(cursor: Cursor, count: number): Cooperative<string[]> {
  cursor.checkCount(count, leastStringBytes, maxArrayLength, 'strings');
  return yield* decodeStrings(yield* cursor.strings(count), count);
}

function readBooleans(cursor: Cursor, count: number): boolean[] {
  cursor.checkCount(count, 1, maxArrayLength, 'booleans');
  return Array.from(cursor.bytes(count), (byte) => byte !== 0);
}

function readNumbers(cursor: Cursor, type: NumericType, count: number): NumericArray {
  const { BYTES_PER_ELEMENT } = numericArrays[type];
  cursor.checkCount(count, BYTES_PER_ELEMENT, maxArrayLength, `${type} values`);
  return new numericArrays[type](cursor.bytes(count * BYTES_PER_ELEMENT).buffer);
}
