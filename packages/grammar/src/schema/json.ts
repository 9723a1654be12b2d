import { isExactNumber } from '../json/decimal.js';
import { type ExactNumber, JsonNumber } from '../json/json-number.js';

export type Json = null | boolean | ExactNumber | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);

/** Whether a value is an object or an array. */
export const hasParts = (value: Json): boolean => Array.isArray(value) || isObject(value);

/** Bits of the types of JSON. */
export const Type = { null: 1, boolean: 2, number: 4, string: 8, array: 16, object: 32 } as const;
export const ALL_TYPES = 63;

export function typeOf(value: Json): number {
  if (value === null) return Type.null;
  if (Array.isArray(value)) return Type.array;
  if (isExactNumber(value)) return Type.number;
  return Type[typeof value as 'boolean' | 'string' | 'object'];
}

/** A key as part of a JSON pointer (RFC 6901). */
export const pointerPart = (key: string | number): string =>
  String(key).replaceAll('~', '~0').replaceAll('/', '~1');

/** Own members, one by one: `Object.entries` of a large object takes long. */
export function* membersOf(object: object): Generator<readonly [string, Json]> {
  for (const key in object) if (Object.hasOwn(object, key)) yield [key, (object as JsonObject)[key] as Json];
}

/** How many members an object has; one more than `most` at most, 0 of others. */
export function countMembers(value: Json, most: number): number {
  let count = 0;
  if (isObject(value)) for (const _ of membersOf(value)) if (++count > most) break;
  return count;
}
