import type { Document, Place } from './document.js';
import { hasParts, isObject, type Json, type JsonObject, Type } from './json.js';
import { invalid, MAX_ALTERNATIVES, refuse, tooMany } from './keywords.js';

type Schema = JsonObject | boolean;

const ANNOTATIONS = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$comment',
  '$defs',
  'definitions',
  '$schema',
  '$id',
  'id',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$anchor',
]);
const not = (schema: Json): JsonObject => ({ not: schema });
const above =
  (key: string, type: string) =>
  (value: Json): Schema =>
    value === 0 ? false : { type, [key]: Number(value) - 1 };
const below =
  (key: string, type: string) =>
  (value: Json): Schema => ({ type, [key]: Number(value) + 1 });

/** For each keyword a schema of what it forbids. */
const negations: Record<string, (value: Json) => Schema> = {
  type: (value) => ({ $notType: value }),
  required: (value) => ({
    anyOf: (value as string[]).map((name) => ({ type: 'object', properties: { [name]: false } })),
  }),
  properties: (value) => ({
    anyOf: Object.entries(value as JsonObject).map(([name, schema]) => ({
      type: 'object',
      required: [name],
      properties: { [name]: not(schema) },
    })),
  }),
  not: (value) => value as Schema,
  allOf: (value) => ({ anyOf: (value as Json[]).map(not) }),
  anyOf: (value) => ({ allOf: (value as Json[]).map(not) }),
  pattern: (value) => ({ type: 'string', $notPattern: value }),
  minLength: above('maxLength', 'string'),
  maxLength: below('minLength', 'string'),
  minItems: above('maxItems', 'array'),
  maxItems: below('minItems', 'array'),
  minProperties: above('maxProperties', 'object'),
  maxProperties: below('minProperties', 'object'),
  minimum: (value) => ({ type: 'number', exclusiveMaximum: value }),
  maximum: (value) => ({ type: 'number', exclusiveMinimum: value }),
  exclusiveMinimum: (value) => ({ type: 'number', maximum: value }),
  exclusiveMaximum: (value) => ({ type: 'number', minimum: value }),
};

/** Schemas of which at least one holds where `place` does not. Throws UNSUPPORTED, naming a keyword without negation. */
export function negate(document: Document, place: Place): Schema[] {
  const { schema, pointer } = place;
  if (typeof schema === 'boolean') return [!schema];
  const choices: Schema[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (ANNOTATIONS.has(key)) continue;
    if (key === 'const' || key === 'enum') choices.push(...excludeValues(key, value, place));
    else if (key === '$ref') {
      const target = document.resolve(place, value as string);
      if (target === place) refuse(`${pointer}/$ref`, 'a schema may not negate itself');
      choices.push({ $notPlace: target.id });
    } else {
      const negation = Object.hasOwn(negations, key) ? negations[key] : undefined;
      if (!negation)
        refuse(
          `${pointer}/${key}`,
          `the keyword ${key} cannot be enforced under not, if or an overlapping oneOf`,
        );
      choices.push((negation as (value: Json) => Schema)(value));
    }
  }
  return choices;
}

function excludeValues(key: string, value: Json, { pointer }: Place): Schema[] {
  const values = key === 'const' ? [value] : value;
  if (!Array.isArray(values)) invalid(`${pointer}/enum`, 'must be an array');
  if ((values as Json[]).length > MAX_ALTERNATIVES) tooMany(`${pointer}/${key}`, (values as Json[]).length);
  if ((values as Json[]).some(hasParts))
    refuse(`${pointer}/${key}`, 'objects and arrays cannot be excluded while generating');
  return [{ $excluded: values as Json[] }];
}

/** The schemas that together allow what `type` does not. */
export function notTypes(value: Json): { bits: number; fractions: boolean } {
  const names = (Array.isArray(value) ? value : [value]) as string[];
  let bits = names.includes('any') ? 0 : 63;
  for (const name of names) if (name !== 'integer') bits &= ~(Type[name as keyof typeof Type] ?? 0);
  return { bits, fractions: names.includes('integer') && !names.includes('number') };
}

export const isSchema = (value: unknown): value is Schema => typeof value === 'boolean' || isObject(value);
