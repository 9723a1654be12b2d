import { rules } from '@quern/core';
import { badOption } from '../error.js';
import { isStandard, withoutVersion } from '../structured/json-schema.js';
import type { OutputSchema } from '../structured/options.js';

/**
 * The JSON schema of a tool's parameters: of what a standard schema reads, so that what has a default is not required.
 * Fields that Zod would drop are not allowed.
 * @throws RuntimeError BAD_OPTION for a standard schema without a JSON schema; BAD_GRAMMAR where JSON cannot say it
 */
export function parametersSchemaOf(where: string, schema: OutputSchema): boolean | object {
  if (!isStandard(schema)) return schema;
  const { vendor, jsonSchema } = schema['~standard'];
  const { toJSONSchema } = schema as { toJSONSchema?: unknown };
  const convert =
    jsonSchema?.input ??
    jsonSchema?.output ??
    (typeof toJSONSchema === 'function' ? () => toJSONSchema.call(schema, { io: 'input' }) : undefined);
  if (!convert)
    throw badOption(
      `${where}.parameters is a schema of ${vendor} without a JSON schema: give one as jsonSchema to tool({ parameters, jsonSchema, … }), for Zod 3 by the package zod-to-json-schema`,
      'tools',
    );
  const converted = withoutVersion(`${where}.parameters`, () => convert({ target: 'draft-2020-12' }));
  return vendor === 'zod' ? closed(converted) : converted;
}

/** Keywords whose schemas are schemas of other values, or of the same one. `allOf` is left: its parts are open. */
const single = ['items', 'additionalProperties'];
const lists = ['anyOf', 'oneOf', 'prefixItems'];
const maps = ['properties', '$defs', 'definitions'];

/** A schema whose objects have no fields beyond their `properties`, where it says nothing of them. */
function closed(schema: object): object {
  const entries = Object.entries(schema).map(([key, value]) => [key, closedWithin(key, value)]);
  const isOpen = 'properties' in schema && !('additionalProperties' in schema);
  return { ...Object.fromEntries(entries), ...(isOpen && { additionalProperties: false }) };
}

function closedWithin(key: string, value: unknown): unknown {
  const each = (one: unknown) => (rules.isObject(one) ? closed(one) : one);
  if (single.includes(key)) return each(value);
  if (lists.includes(key) && Array.isArray(value)) return value.map(each);
  if (!maps.includes(key) || !rules.isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, each(one)]));
}
