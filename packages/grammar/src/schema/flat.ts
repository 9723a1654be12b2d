import { ALL_TYPES, type Json } from './json.js';
import type { Bound } from './numbers.js';

/** Schemas that all hold at one place: ids of places, sorted, without duplicates. */
export type Conjunction = readonly number[];

export interface PatternRule {
  readonly source: string;
  readonly schema: number;
}

/** `items` keywords of one schema object. */
export interface ArrayPart {
  readonly prefix: readonly number[];
  readonly rest: number | undefined;
}

/** `properties` keywords of one schema object. */
export interface ObjectPart {
  readonly properties: ReadonlyMap<string, number>;
  readonly patterns: readonly PatternRule[];
  readonly additional: number | undefined;
}

/** A schema without combinators: for each type its constraints, all of which hold. */
export interface Flat {
  readonly types: number;
  /** Values that are neither objects nor arrays, of `enum` and `const`; undefined: any. */
  readonly values: readonly Json[] | undefined;
  readonly excluded: readonly Json[];
  readonly isInteger: boolean;
  readonly least: readonly Bound[];
  readonly most: readonly Bound[];
  readonly multiples: readonly number[];
  readonly minLength: number;
  readonly maxLength: number;
  readonly patterns: readonly string[];
  readonly notPatterns: readonly string[];
  readonly arrays: readonly ArrayPart[];
  readonly minItems: number;
  readonly maxItems: number;
  readonly objects: readonly ObjectPart[];
  readonly required: readonly string[];
  readonly minProperties: number;
  readonly maxProperties: number;
  readonly names: readonly number[];
  readonly dependent: readonly (readonly [string, readonly string[]])[];
  /** Where `minProperties` and `uniqueItems` stand, for errors. */
  readonly pointer: string;
  readonly isUnique: boolean;
}

export const anything: Flat = {
  types: ALL_TYPES,
  values: undefined,
  excluded: [],
  isInteger: false,
  least: [],
  most: [],
  multiples: [],
  minLength: 0,
  maxLength: Infinity,
  patterns: [],
  notPatterns: [],
  arrays: [],
  minItems: 0,
  maxItems: Infinity,
  objects: [],
  required: [],
  minProperties: 0,
  maxProperties: Infinity,
  names: [],
  dependent: [],
  pointer: '',
  isUnique: false,
};

/** What both allow. */
export function intersect(a: Flat, b: Flat): Flat {
  if (a === anything) return b;
  if (b === anything) return a;
  return {
    types: a.types & b.types,
    values: commonValues(a.values, b.values),
    excluded: both(a.excluded, b.excluded),
    isInteger: a.isInteger || b.isInteger,
    least: both(a.least, b.least),
    most: both(a.most, b.most),
    multiples: both(a.multiples, b.multiples),
    minLength: Math.max(a.minLength, b.minLength),
    maxLength: Math.min(a.maxLength, b.maxLength),
    patterns: union(a.patterns, b.patterns),
    notPatterns: both(a.notPatterns, b.notPatterns),
    arrays: both(a.arrays, b.arrays),
    minItems: Math.max(a.minItems, b.minItems),
    maxItems: Math.min(a.maxItems, b.maxItems),
    objects: both(a.objects, b.objects),
    required: union(a.required, b.required),
    minProperties: Math.max(a.minProperties, b.minProperties),
    maxProperties: Math.min(a.maxProperties, b.maxProperties),
    names: union(a.names, b.names),
    dependent: both(a.dependent, b.dependent),
    pointer: a.pointer || b.pointer,
    isUnique: a.isUnique || b.isUnique,
  };
}

const both = <T>(a: readonly T[], b: readonly T[]): readonly T[] =>
  a.length === 0 ? b : b.length === 0 ? a : [...a, ...b];

const union = <T>(a: readonly T[], b: readonly T[]): readonly T[] =>
  a.length === 0 ? b : b.length === 0 ? a : [...new Set([...a, ...b])];

function commonValues(
  a: readonly Json[] | undefined,
  b: readonly Json[] | undefined,
): readonly Json[] | undefined {
  if (!a || !b) return a ?? b;
  const allowed = new Set(b);
  return a.filter((value) => allowed.has(value));
}
