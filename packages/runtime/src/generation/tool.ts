import { checkOptions, rules, type Schema } from '@quern/core';
import { badOption } from '../error.js';
import { isStandard } from '../structured/json-schema.js';
import type { OutputSchema, OutputValue, StandardSchema } from '../structured/options.js';
import { needToolFields } from './tool-fields.js';
import type { ChatTool, ToolContext, UnnamedTool } from './tool-options.js';

/** The arguments that `run` gets: what a standard schema makes of them, or the type of a JSON schema. */
export type ToolArguments<S> = S extends undefined
  ? Record<string, unknown>
  : unknown extends OutputValue<S>
    ? Record<string, unknown>
    : OutputValue<S>;

/** What `tool` makes a tool of. */
export interface ToolDefinition<S extends object | undefined = undefined> {
  /** Absent where `tools` is an object: the key is the name. */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** JSON schema of the arguments, or a standard schema (Zod …). */
  readonly parameters?: S | undefined;
  /** The JSON schema of `parameters`, for standard schemas that give none: of Zod 3, of Valibot. */
  readonly jsonSchema?: object | undefined;
  /** Arguments that do not fit the schema cannot be written. Default false. */
  readonly strict?: boolean | null | undefined;
  /** Called with the checked arguments: see `ChatTool.run`. Absent: the answer ends with the call. */
  readonly run?: ((args: ToolArguments<S>, context: ToolContext) => unknown) | undefined;
}

interface AnyDefinition extends Omit<ToolDefinition, 'parameters' | 'run'> {
  readonly parameters?: object | undefined;
  readonly run?: ((args: never, context: ToolContext) => unknown) | undefined;
}

const definitionSchema = {
  name: { ...rules.text, about: 'the name that the model calls' },
  description: { ...rules.text, about: 'what the tool does' },
  parameters: {
    must: 'a JSON schema or a standard schema (Zod …)',
    holds: (value): value is never =>
      typeof value === 'function' || (rules.isObject(value) && !Array.isArray(value)),
    about: 'schema of the arguments',
  },
  jsonSchema: { ...rules.object, about: 'the JSON schema of parameters that give none' },
  strict: {
    must: 'true or false',
    holds: (value): value is boolean | null => value === null || typeof value === 'boolean',
    about: 'arguments that do not fit cannot be written',
  },
  run: { ...rules.callback, about: 'the function of the tool' },
} as const satisfies Schema<AnyDefinition>;

/**
 * A tool for `tools` of a chat, in the form of the OpenAI API. `run`'s arguments have the type of `parameters`.
 * @throws RuntimeError BAD_OPTION for a field that is unknown or of a wrong type
 */
export function tool<const S extends object | undefined = undefined>(
  definition: ToolDefinition<S> & { readonly name: string },
): ChatTool;
export function tool<const S extends object | undefined = undefined>(
  definition: ToolDefinition<S>,
): UnnamedTool;
export function tool(definition: AnyDefinition): ChatTool | UnnamedTool {
  if (rules.isObject(definition)) needToolFields('tool', definition, Object.keys(definitionSchema));
  checkOptions('tool', definition, definitionSchema, badOption);
  const { name, description, parameters, jsonSchema, strict, run } = definition;
  return {
    type: 'function',
    function: {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters: withJsonSchema(parameters, jsonSchema) }),
      ...(strict !== undefined && { strict }),
    },
    ...(run && { run: (args: Record<string, unknown>, context) => run(args as never, context) }),
  };
}

function withJsonSchema(given: object, jsonSchema: object | undefined): object {
  if (jsonSchema === undefined) return given;
  const parameters = given as OutputSchema;
  if (!isStandard(parameters))
    throw badOption('[tool] jsonSchema belongs to parameters that are a standard schema', 'jsonSchema');
  const schema = () => ({ ...jsonSchema });
  const described: StandardSchema = {
    '~standard': { ...parameters['~standard'], jsonSchema: { input: schema, output: schema } },
  };
  return described;
}
