import { parseJson, type SchemaRules, type StructuredOptions } from '@quern/runtime';
import * as z from 'zod';
import { badField } from '../errors.js';
import { orNull } from './fields.js';
import { responseFormat, structureOf } from './response-format.js';

const schema = z.record(z.string(), z.unknown());
const jsonSchema = orNull(z.union([schema, z.string()], { error: 'must be a JSON schema' }));
const choice = orNull(z.array(z.string().min(1)).min(1));

/** What a text must be: OpenAI's field, and those of vLLM (`guided_…`, `structured_outputs`) and of llama.cpp. */
export const structureFields = {
  response_format: responseFormat,
  structured_outputs: orNull(
    z.strictObject({
      json: jsonSchema,
      regex: orNull(z.string()),
      choice,
      grammar: orNull(z.string()),
      json_object: orNull(z.boolean()),
    }),
  ),
  guided_json: jsonSchema,
  guided_regex: orNull(z.string()),
  guided_choice: choice,
  guided_grammar: orNull(z.string()),
  json_schema: orNull(schema),
  grammar: orNull(z.string()),
};

type StructureFields = z.output<z.ZodObject<typeof structureFields>>;

type Options = StructuredOptions & SchemaRules;

/** A structure, and the field that gives it. */
export interface NamedStructure {
  readonly field: string;
  readonly options: Options;
}

const anyObject: Options = { schema: { type: 'object' } };

function fromSchema(value: Record<string, unknown> | string, field: string): Options {
  if (typeof value !== 'string') return { schema: value };
  try {
    return { schema: parseJson(value) as Record<string, unknown> };
  } catch (error) {
    throw badField(field, `${field} is not JSON: ${(error as Error).message}`, 'unsupported_schema');
  }
}

const nothing: Partial<NonNullable<StructureFields['structured_outputs']>> = {};

/** The structure that a request asks for, if any. @throws ApiError 400 for two of them */
export function structureFrom(body: StructureFields): NamedStructure | undefined {
  const { structured_outputs: vllm, response_format: format } = body;
  const { json, regex, choice: of, grammar, json_object } = vllm ?? nothing;
  const all: readonly (readonly [field: string, options: Options | undefined])[] = [
    ['response_format', format && format.type !== 'text' ? structureOf(format) : undefined],
    ['structured_outputs.json', json ? fromSchema(json, 'structured_outputs.json') : undefined],
    ['structured_outputs.json_object', json_object ? anyObject : undefined],
    ['structured_outputs.regex', regex ? { regex } : undefined],
    ['structured_outputs.choice', of && { choices: of }],
    ['structured_outputs.grammar', grammar ? { grammar } : undefined],
    ['guided_json', body.guided_json ? fromSchema(body.guided_json, 'guided_json') : undefined],
    ['guided_regex', body.guided_regex ? { regex: body.guided_regex } : undefined],
    ['guided_choice', body.guided_choice && { choices: body.guided_choice }],
    ['guided_grammar', body.guided_grammar ? { grammar: body.guided_grammar } : undefined],
    ['json_schema', body.json_schema && fromSchema(body.json_schema, 'json_schema')],
    ['grammar', body.grammar ? { grammar: body.grammar } : undefined],
  ];
  const given = all.flatMap(([field, options]) => (options ? [{ field, options }] : []));
  if (given.length > 1)
    throw badField(
      given[1]!.field,
      `${given[0]!.field} and ${given[1]!.field} exclude each other: give one of them`,
    );
  return given[0];
}
