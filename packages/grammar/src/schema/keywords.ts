import { GrammarError } from '../error.js';
import { decimal, isExactNumber, sign } from '../json/decimal.js';
import type { ExactNumber } from '../json/json-number.js';
import type { Document, Place } from './document.js';
import { anything, type Flat, intersect, type PatternRule } from './flat.js';
import { formatPattern, freeFormats, integerFormats, isPatternFormat } from './formats.js';
import { ALL_TYPES, isObject, type Json, type JsonObject, pointerPart, Type } from './json.js';

export interface KeywordOptions {
  readonly unknownFormats: 'refuse' | 'ignore';
  /** Told of what is ignored. */
  readonly notice: (text: string) => void;
  /** Throws if a pattern cannot be enforced. */
  readonly checkPattern: (source: string) => void;
}

interface Context {
  readonly document: Document;
  readonly place: Place;
  readonly schema: JsonObject;
  readonly pointer: string; // of the keyword
  readonly options: KeywordOptions;
}

type Handler = (value: Json, context: Context) => Partial<Flat>;

/** Keywords that combine schemas: expand.ts reads them. */
const COMBINATORS = [
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'enum',
  'const',
  'dependentSchemas',
  'dependencies',
];
const REFUSED = [
  'contains',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$dynamicRef',
  '$recursiveRef',
  'extends',
  'disallow',
];

/** Most members of `properties` and `patternProperties`, and items of `prefixItems`. */
const MOST_MEMBERS = 2000;
const MOST_ITEMS = 10_000;
/** Most names in `dependentRequired`, of all keys together. */
const MOST_DEPENDENTS = 20_000;

/** Most alternatives, and values of `enum`, at one place. */
export const MAX_ALTERNATIVES = 2000;

/** As many as those of the greatest and of the least float64. */
const MOST_DIGITS = 345;

const count = (value: Json, { pointer }: Context): number => {
  if (typeof value === 'bigint' && value >= 0n) return Number(value);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  return invalid(pointer, 'must be a whole number, 0 or more');
};
const number = (value: Json, { pointer }: Context): ExactNumber => {
  if (!isExactNumber(value) || (typeof value === 'number' && !Number.isFinite(value)))
    return invalid(pointer, 'must be a number');
  const digits = decimal(value).join('').length;
  return digits <= MOST_DIGITS
    ? value
    : refuse(pointer, `it has ${digits} digits without exponent; ${MOST_DIGITS} can be enforced`);
};
const strings = (value: Json, pointer: string): readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
    ? value
    : invalid(pointer, 'must be an array of strings');

/** Names of properties; an array of too many is refused before it is read. */
const names = (value: Json, pointer: string): readonly string[] => {
  if (Array.isArray(value) && value.length > MOST_MEMBERS)
    throw new GrammarError(
      'TOO_COMPLEX',
      pointer,
      `${value.length} properties at one place; the bound is ${MOST_MEMBERS}`,
    );
  return strings(value, pointer);
};

/** @throws GrammarError TOO_COMPLEX */
export function needFewDependents(pointer: string, entries: readonly (readonly [string, unknown])[]): void {
  const count = entries.reduce((sum, [, others]) => sum + (Array.isArray(others) ? others.length : 1), 0);
  if (count > MOST_DEPENDENTS)
    throw new GrammarError(
      'TOO_COMPLEX',
      pointer || '/',
      `dependentRequired names ${count} properties in all; the bound is ${MOST_DEPENDENTS}`,
    );
}

const handlers: Record<string, Handler> = {
  type: types,
  minimum: (value, at) => ({
    least: [{ value: number(value, at), isExclusive: at.schema.exclusiveMinimum === true }],
  }),
  maximum: (value, at) => ({
    most: [{ value: number(value, at), isExclusive: at.schema.exclusiveMaximum === true }],
  }),
  exclusiveMinimum: (value, at) =>
    typeof value === 'boolean' ? {} : { least: [{ value: number(value, at), isExclusive: true }] },
  exclusiveMaximum: (value, at) =>
    typeof value === 'boolean' ? {} : { most: [{ value: number(value, at), isExclusive: true }] },
  multipleOf: (value, at) => ({ multiples: [divisor(number(value, at), at)] }),
  divisibleBy: (value, at) => ({ multiples: [divisor(number(value, at), at)] }),
  minLength: (value, at) => ({ minLength: count(value, at) }),
  maxLength: (value, at) => ({ maxLength: count(value, at) }),
  pattern: (value, at) => ({ patterns: [pattern(text(value, at), at.pointer, at)] }),
  $notPattern: (value, at) => ({ notPatterns: [text(value, at)] }),
  format,
  items: arrays,
  prefixItems: arrays,
  minItems: (value, at) => ({ minItems: count(value, at) }),
  maxItems: (value, at) => ({ maxItems: count(value, at) }),
  uniqueItems: (value, at) => (value === true ? { isUnique: true, pointer: at.place.pointer } : {}),
  properties: objects,
  patternProperties: objects,
  additionalProperties: objects,
  required: (value, at) =>
    typeof value === 'boolean' ? {} : { required: [...new Set(names(value, at.pointer))] },
  minProperties: (value, at) => ({ minProperties: count(value, at), pointer: at.place.pointer }),
  maxProperties: (value, at) => ({ maxProperties: count(value, at) }),
  propertyNames: (value, at) => ({ names: [at.document.child(at.place, value, 'propertyNames').id] }),
  dependentRequired: (value, at) => {
    const entries = Object.entries(object(value, at));
    needFewDependents(at.pointer, entries);
    return { dependent: entries.map(([key, others]) => [key, names(others, at.pointer)] as const) };
  },
};

/** The keywords of one schema object but its combinators. Throws UNSUPPORTED for those that cannot be enforced. */
export function readKeywords(document: Document, place: Place, options: KeywordOptions): Flat {
  let flat: Flat = anything;
  const schema = place.schema as JsonObject;
  const keys = new Set(Object.keys(schema));
  if (keys.has('items')) keys.delete('prefixItems'); // one reading for both
  const group = ['properties', 'patternProperties', 'additionalProperties'].find((key) => keys.has(key));
  for (const key of keys) {
    if (REFUSED.includes(key))
      refuse(`${place.pointer}/${key}`, `the keyword ${key} cannot be enforced while generating; remove it`);
    const handler = Object.hasOwn(handlers, key) ? handlers[key] : undefined;
    if (!handler || COMBINATORS.includes(key) || (handler === objects && key !== group)) continue;
    const pointer = `${place.pointer}/${pointerPart(key)}`;
    const found = handler(schema[key] as Json, { document, place, schema, pointer, options });
    flat = intersect(flat, { ...anything, ...found });
  }
  return flat;
}

function needFew(pointer: string, count: number, most: number): void {
  if (count > most)
    throw new GrammarError('TOO_COMPLEX', pointer, `it has ${count} schemas; at most ${most} are compiled`);
}

export function tooMany(pointer: string, count: number): never {
  throw new GrammarError(
    'TOO_COMPLEX',
    pointer || '/',
    `the schema has ${count} alternatives here; the bound is ${MAX_ALTERNATIVES}. Use fewer values, or fewer nested anyOf, oneOf, if`,
  );
}

export function refuse(pointer: string, detail: string): never {
  throw new GrammarError('UNSUPPORTED', pointer || '/', detail);
}

export function invalid(pointer: string, detail: string): never {
  throw new GrammarError('INVALID', pointer || '/', detail);
}

function types(value: Json, { pointer }: Context): Partial<Flat> {
  const names = typeof value === 'string' ? [value] : strings(value, pointer);
  let bits = 0;
  for (const name of names) {
    if (name === 'integer') bits |= Type.number;
    else if (name === 'any') bits |= ALL_TYPES;
    else if (Object.hasOwn(Type, name)) bits |= Type[name as keyof typeof Type];
    else invalid(pointer, `unknown type ${JSON.stringify(name)}`);
  }
  const isInteger = names.includes('integer') && !names.includes('number') && !names.includes('any');
  return { types: bits, isInteger };
}

function divisor(value: ExactNumber, { pointer }: Context): number {
  if (sign(value) <= 0) invalid(pointer, 'must be greater than 0');
  const digits = String(value).replace(/e.*/, '').replace('.', '').length;
  if (typeof value !== 'number' || digits > 12 || value > 1e12 || value < 1e-9)
    refuse(pointer, `multiples of ${value} cannot be enforced exactly; use at most 12 digits`);
  return value;
}

function text(value: Json, { pointer }: Context): string {
  return typeof value === 'string' ? value : invalid(pointer, 'must be a string');
}

function pattern(source: string, pointer: string, { options }: Context): string {
  try {
    options.checkPattern(source);
    return source;
  } catch (error) {
    if (error instanceof GrammarError) throw new GrammarError(error.code, pointer, error.message);
    throw error;
  }
}

function object(value: Json, { pointer }: Context): JsonObject {
  return isObject(value) ? value : invalid(pointer, 'must be an object');
}

function format(value: Json, at: Context): Partial<Flat> {
  const name = text(value, at);
  const limits = Object.hasOwn(integerFormats, name) ? integerFormats[name] : undefined;
  if (limits) {
    const [low, high] = limits.map((value) => [{ value, isExclusive: false }]);
    return { isInteger: true, least: low!, most: high! };
  }
  if (freeFormats.has(name)) return {};
  const pattern = formatPattern(name);
  if (pattern) return { patterns: [pattern] };
  if (isPatternFormat(name) && hasPatterns(at.schema)) return {};
  const unknown = `the format ${JSON.stringify(name)} is not one that can be enforced`;
  if (at.options.unknownFormats === 'refuse')
    return refuse(
      at.pointer,
      `${unknown}; remove it, say it as a pattern, or allow unknownFormats: 'ignore'`,
    );
  at.options.notice(`${at.pointer}: ${unknown}: it is ignored, any string may come`);
  return {};
}

const hasPatterns = ({ pattern, allOf }: JsonObject): boolean =>
  pattern !== undefined ||
  (Array.isArray(allOf) && allOf.some((part) => isObject(part) && part.pattern !== undefined));

/** 2020-12 has `prefixItems` and `items`; before, `items` could be an array, followed by `additionalItems`. */
function arrays(_: Json, { document, place, schema }: Context): Partial<Flat> {
  const isOld = Array.isArray(schema.items);
  const key = isOld ? 'items' : 'prefixItems';
  const listed = schema[key] ?? [];
  if (!Array.isArray(listed)) return invalid(`${place.pointer}/${key}`, 'must be an array of schemas');
  needFew(`${place.pointer}/${key}`, listed.length, MOST_ITEMS);
  const restKey = isOld ? 'additionalItems' : 'items';
  const rest = schema[restKey];
  return {
    arrays: [
      {
        prefix: (listed as readonly Json[]).map((item, i) => document.child(place, item, key, i).id),
        rest: rest === undefined ? undefined : document.child(place, rest, restKey).id,
      },
    ],
  };
}

function objects(_: Json, at: Context): Partial<Flat> {
  const { document, place, schema } = at;
  const members = (key: string) => {
    const pointer = `${place.pointer}/${key}`;
    const entries = Object.entries(object(schema[key] ?? {}, { ...at, pointer }));
    needFew(pointer, entries.length, MOST_MEMBERS);
    return entries;
  };
  const required: string[] = []; // draft 3 wrote `required: true` inside the property
  const properties = new Map<string, number>();
  for (const [name, value] of members('properties')) {
    properties.set(name, document.child(place, value, 'properties', name).id);
    if (isObject(value) && value.required === true) required.push(name);
  }
  const patterns: PatternRule[] = members('patternProperties').map(([source, value]) => ({
    source: pattern(source, `${place.pointer}/patternProperties/${pointerPart(source)}`, at),
    schema: document.child(place, value, 'patternProperties', source).id,
  }));
  const extra = schema.additionalProperties;
  const additional =
    extra === undefined ? undefined : document.child(place, extra, 'additionalProperties').id;
  return { objects: [{ properties, patterns, additional }], required };
}
