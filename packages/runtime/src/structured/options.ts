import { type Rule, rules, type Schema } from '@quern/core';
import { Grammar, type InferSchema } from '@quern/grammar';
import { badOption } from '../error.js';

/** A schema of Zod, Valibot, ArkType …: https://standardschema.dev */
export interface StandardSchema<Value = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: unknown; readonly output: Value } | undefined;
    /** https://standardschema.dev/json-schema */
    readonly jsonSchema?: {
      readonly output: (options: { readonly target: 'draft-2020-12' }) => object;
      readonly input?: (options: { readonly target: 'draft-2020-12' }) => object;
    };
  };
}

/** A JSON schema (2020-12), or a standard schema that has one. */
export type OutputSchema = boolean | { readonly [keyword: string]: unknown } | StandardSchema;

/** The type of the values of a schema. */
export type OutputValue<S> =
  S extends StandardSchema<infer Value> ? Value : S extends object ? InferSchema<S> : unknown;

/** What a generated text must be. At most one of the four. */
export interface StructuredOptions {
  /**
   * The text is JSON that fits this schema; `value` of the result is the parsed value. What cannot be enforced while
   * generating is refused by name.
   */
  schema?: OutputSchema | undefined;
  /** The text is matched by this ECMA-262 pattern from start to end. */
  regex?: string | undefined;
  /** The text is one of these. */
  choices?: readonly string[] | undefined;
  /** The text is derived from this grammar: llama.cpp's notation (GBNF), or compiled by @quern/grammar. */
  grammar?: string | Grammar | undefined;
}

/** How schemas are read: `schema`, and those of tools. */
export interface SchemaRules {
  /**
   * 'schema': keys of objects come in the order of `properties`, then others; 'any': in any order. Calls that write
   * arguments one by one always have the schema's order.
   */
  keyOrder?: 'schema' | 'any' | undefined;
  /** Formats that cannot be enforced: 'ignore' them with a notice, or 'refuse' the schema. Strict tools refuse them. */
  unknownFormats?: 'ignore' | 'refuse' | undefined;
  /** Called with notices about this call: formats that are not enforced. Default: as the model's. */
  onNotice?: ((text: string) => void) | undefined;
}

const schemaRule: Rule<OutputSchema> = {
  must: 'a JSON schema or a standard schema (Zod …)',
  holds: (value): value is OutputSchema =>
    typeof value === 'boolean' ||
    (rules.isObject(value) && !Array.isArray(value)) ||
    typeof value === 'function',
};

const grammarRule: Rule<string | Grammar> = {
  must: 'a text in the notation of GBNF, or a Grammar of @quern/grammar',
  holds: (value): value is string | Grammar => typeof value === 'string' || isGrammar(value),
};

/** By its methods: it may come from another copy of the package. */
const isGrammar = (value: unknown): value is Grammar =>
  value instanceof Grammar || (rules.isObject(value) && typeof value.matcher === 'function');

/** What each option must be, and its default. */
export const structuredSchema = {
  schema: { ...schemaRule, about: 'the text is JSON that fits this schema', absent: 'any text' },
  regex: { ...rules.text, about: 'the text is matched by this pattern', absent: 'any text' },
  choices: { ...rules.texts, about: 'the text is one of these', absent: 'any text' },
  grammar: { ...grammarRule, about: 'the text is derived from this grammar (GBNF)', absent: 'any text' },
} as const satisfies Schema<StructuredOptions>;

export const schemaRulesSchema = {
  keyOrder: {
    ...rules.oneOf(['schema', 'any'] as const),
    about: "keys of JSON objects in the schema's order, or in any",
    absent: "'schema'",
  },
  unknownFormats: {
    ...rules.oneOf(['ignore', 'refuse'] as const),
    about: 'formats of schemas that cannot be enforced: ignored with a notice, or refused',
    absent: "'ignore'",
  },
  onNotice: {
    ...rules.callback,
    about: 'called with notices about this call',
    absent: "the model's listener, else process warnings",
  },
} as const satisfies Schema<SchemaRules>;

const names = Object.keys(structuredSchema) as (keyof StructuredOptions)[];

/** The option that says what the text must be. @throws RuntimeError BAD_OPTION for several */
export function structureOf(options: StructuredOptions): keyof StructuredOptions | undefined {
  const given = names.filter((name) => options[name] !== undefined);
  if (given.length > 1)
    throw badOption(`options ${given.join(' and ')} exclude each other: give one of them`, given[1]!);
  return given[0];
}
