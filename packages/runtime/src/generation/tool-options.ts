import { type Rule, rules, type Schema } from '@quern/core';
import { type CallFormat, callFormats } from '../chat/answer/index.js';
import { badOption } from '../error.js';
import { jsonSchemaOf } from '../structured/json-schema.js';
import { structuredSchema } from '../structured/options.js';

/** What a tool's function gets beside its arguments. */
export interface ToolContext {
  /** The id of the call. */
  readonly id: string;
  /** The arguments as JSON text, as the model wrote them: integers beyond 2^53 keep their digits here. */
  readonly arguments: string;
  /** Aborts where the answer's reader leaves or its signal aborts. */
  readonly signal: AbortSignal;
}

/** A tool, in the form of the OpenAI API; with `run`, `chat` calls it. */
export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string | undefined;
    /** JSON schema of the arguments, or a standard schema that has one (Zod …). */
    readonly parameters?: object | undefined;
    /** Arguments that do not fit the schema cannot be written. Default false. The prompt does not show it. */
    readonly strict?: boolean | null | undefined;
    readonly [field: string]: unknown;
  };
  /**
   * Called with the parsed arguments, whose numbers are float64: `context.arguments` has all digits. The model gets what it returns: a string as it is, anything else as JSON. What it
   * throws goes to the model as the result.
   */
  run?(args: Record<string, unknown>, context: ToolContext): unknown;
}

/** Whether the model calls tools: as it likes, never, at least one, or this one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** Options of a chat's tools and thoughts. */
export interface ToolOptions {
  /** Tools that the model may call. Those with `run` are called, and the answer goes on with their results. */
  tools?: readonly (ChatTool | object)[] | undefined;
  /** Default 'auto'. 'none': the prompt does not name the tools. */
  toolChoice?: ToolChoice | undefined;
  /** Several calls in one answer; default true. False: the answer ends before the second call. */
  parallelCalls?: boolean | undefined;
  /** How the model writes calls; 'none': they stay text. Default: as its chat template announces. */
  callFormat?: CallFormat | 'none' | undefined;
  /** Most answers to one chat, where tools have `run`; default 8. `maxTokens` counts for each. */
  maxRounds?: number | undefined;
  /** Whether the model thinks before it answers. Default: as its chat template says. */
  thinking?: boolean | undefined;
}

const toolChoice: Rule<ToolChoice> = {
  must: "'auto', 'none', 'required', or { name } of a tool",
  holds: (value): value is ToolChoice =>
    value === 'auto' ||
    value === 'none' ||
    value === 'required' ||
    (rules.isObject(value) && typeof value.name === 'string'),
};

/** What each option must be, and its default. */
export const toolSchema = {
  tools: {
    ...rules.listOf('descriptions of tools', rules.object),
    about:
      'tools that the model may call, in the form of the OpenAI API; `run` is called; `strict`: arguments fit the schema',
    absent: 'none',
  },
  toolChoice: { ...toolChoice, about: 'whether the model calls tools', absent: "'auto'" },
  parallelCalls: { ...rules.flag, about: 'several calls in one answer', byDefault: true },
  callFormat: {
    ...rules.oneOf([...callFormats, 'none'] as const),
    about: 'how the model writes calls of tools',
    absent: 'as its chat template announces',
  },
  maxRounds: { ...rules.whole(1), about: 'most answers to one chat, where tools have run', byDefault: 8 },
  thinking: {
    ...rules.flag,
    about: 'whether the model thinks before it answers',
    absent: 'as its chat template says',
  },
} as const satisfies Schema<ToolOptions>;

/** A tool as a chat uses it. */
export interface NamedTool {
  readonly name: string;
  readonly parameters?: unknown;
  readonly strict: boolean;
  readonly run?: ChatTool['run'];
  /** For the template. */
  readonly described: object;
}

/** The tools of a chat. @throws RuntimeError BAD_OPTION for a tool without a name, and for two of one name */
export function namedTools({ tools = [] }: ToolOptions): NamedTool[] {
  const named = tools.map((tool, index) => namedTool(tool as Readonly<Record<string, unknown>>, index));
  const twice = named.find(({ name }, index) => named.findIndex((other) => other.name === name) < index);
  if (twice) throw badOption(`tools has two tools of the name '${twice.name}'`, 'tools');
  return named;
}

function namedTool({ run, ...described }: Readonly<Record<string, unknown>>, index: number): NamedTool {
  const inner = rules.isObject(described.function) ? described.function : undefined;
  if (inner && described.strict !== undefined)
    throw badOption(
      `tools[${index}].strict belongs into its function: { function: { name, strict: true } }`,
      'tools',
    );
  const { strict, ...given } = inner ?? described;
  const fields = {
    ...given,
    ...(given.parameters !== undefined && { parameters: parametersOf(given.parameters) }),
  };
  const { name, parameters } = fields as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || name === '')
    throw badOption(`tools[${index}] has no name: give { type: 'function', function: { name, … } }`, 'tools');
  if (run !== undefined && typeof run !== 'function')
    throw badOption(`tools[${index}].run must be a function`, 'tools');
  if (typeof (strict ?? false) !== 'boolean')
    throw badOption(`tools[${index}] must have a strict of true or false`, 'tools');
  return {
    name,
    parameters,
    strict: strict === true,
    described: inner ? { ...described, function: fields } : fields,
    ...(run !== undefined && { run: run as NonNullable<ChatTool['run']> }),
  };
}

/** The JSON schema of parameters that are a schema of Zod, Valibot …; others as they are. */
const parametersOf = (parameters: unknown): unknown =>
  structuredSchema.schema.holds(parameters) ? jsonSchemaOf(parameters) : parameters;
