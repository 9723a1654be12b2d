import { rules } from '@quern/core';
import { badOption, RuntimeError } from '../error.js';
import type { OutputSchema, StandardSchema } from './options.js';

export const isStandard = (schema: OutputSchema): schema is StandardSchema =>
  (typeof schema === 'object' || typeof schema === 'function') && '~standard' in schema;

/** Of standard schemas, which never change: a conversion takes up to a millisecond. */
const known = new WeakMap<StandardSchema, object>();

/**
 * The JSON schema of an `OutputSchema`.
 * @throws RuntimeError BAD_OPTION for a standard schema without a JSON schema; BAD_GRAMMAR where JSON cannot say it
 */
export function jsonSchemaOf(schema: OutputSchema): boolean | object {
  if (!isStandard(schema)) return schema;
  const found = known.get(schema) ?? schemaOf(schema);
  known.set(schema, found);
  return found;
}

function schemaOf(schema: StandardSchema): object {
  const { vendor, jsonSchema } = schema['~standard'];
  if (jsonSchema) return withoutVersion('schema', () => jsonSchema.output({ target: 'draft-2020-12' }));
  const { toJSONSchema } = schema as { toJSONSchema?: unknown };
  if (typeof toJSONSchema === 'function') return withoutVersion('schema', () => toJSONSchema.call(schema));
  throw badOption(
    `schema is a schema of ${vendor} without a JSON schema: convert it first (Zod: z.toJSONSchema(schema))`,
    'schema',
  );
}

/** Without `$schema`: its vocabulary is the one that we read. Libraries refuse dates and other values that JSON lacks. */
export function withoutVersion(option: string, convert: () => { $schema?: unknown }): object {
  try {
    const { $schema: _, ...schema } = convert();
    return schema;
  } catch (cause) {
    throw new RuntimeError('BAD_GRAMMAR', `${option}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * The value of a text that fits a schema: parsed, and for a standard schema what its `validate` makes of it. Undefined
 * where the text is cut or the schema's own checks refuse it.
 */
export function outputValue(schema: OutputSchema, text: string): unknown {
  const value = parse(text);
  if (value === undefined || !isStandard(schema)) return value;
  const result = schema['~standard'].validate(value);
  return rules.isObject(result) && 'value' in result && !result.issues ? result.value : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // cut by maxTokens, a stop string or an abort
  }
}
