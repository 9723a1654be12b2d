import type { SchemaRules, StructuredOptions } from '@quern/runtime';
import * as z from 'zod';
import { orNull } from './fields.js';

const schema = z.record(z.string(), z.unknown());

/** `response_format` of chat completions. `strict: false` is enforced too, but for formats that cannot be. */
export const responseFormat = orNull(
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text') }),
    z.strictObject({ type: z.literal('json_object') }),
    z.strictObject({
      type: z.literal('json_schema'),
      json_schema: z.strictObject({
        name: z.string().optional(),
        description: z.string().optional(),
        strict: z.boolean().nullish(),
        schema,
      }),
    }),
    z.strictObject({ type: z.literal('grammar'), grammar: z.string() }),
    z.strictObject({ type: z.literal('regex'), regex: z.string() }),
  ]),
);

export type ResponseFormat = z.output<typeof responseFormat>;

/** Formats that cannot be enforced are refused under `strict`. */
export const schemaOf = ({ schema, strict }: JsonSchemaFormat): StructuredOptions & SchemaRules => ({
  schema,
  ...(strict && { unknownFormats: 'refuse' }),
});

interface JsonSchemaFormat {
  readonly schema: Record<string, unknown>;
  readonly strict?: boolean | null | undefined;
}

export function structureOf(format: ResponseFormat): StructuredOptions & SchemaRules {
  switch (format?.type) {
    case 'json_object':
      return { schema: { type: 'object' } };
    case 'json_schema':
      return schemaOf(format.json_schema);
    case 'grammar':
      return { grammar: format.grammar };
    case 'regex':
      return { regex: format.regex };
    default:
      return {};
  }
}
