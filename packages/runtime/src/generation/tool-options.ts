import { type Rule, rules, type Schema, showValue } from '@quern/core';
import { type AnswerCall, type CallFormat, callFormats } from '../chat/answer/index.js';
import { badOption } from '../error.js';
import { structuredSchema } from '../structured/options.js';
import { argumentsCheck, type CheckArguments } from './check-arguments.js';
import { needToolFields } from './tool-fields.js';
import { parametersSchemaOf } from './tool-parameters.js';

/** What a tool's function gets beside its arguments. */
export interface ToolContext {
  /** The id of the call. */
  readonly id: string;
  /** The arguments as JSON text, as the model wrote them: integers beyond 2^53 keep their digits here. */
  readonly arguments: string;
  /** Aborts where the answer's reader leaves or its signal aborts. */
  readonly signal: AbortSignal;
}

/** What the model is told of a tool. */
export interface ToolDescription {
  readonly description?: string | undefined;
  /** JSON schema of the arguments, or a standard schema that has one (Zod …). */
  readonly parameters?: object | undefined;
  /** Arguments that do not fit the schema cannot be written. Default false. The prompt does not show it. */
  readonly strict?: boolean | null | undefined;
}

/** A tool whose name is its key in `tools`; made by `tool`. */
export interface UnnamedTool {
  /** 'function'. */
  readonly type: 'function' | (string & Record<never, never>);
  readonly function: ToolDescription & { readonly name?: string };
  /**
   * Called with the arguments, which fit `parameters`; with a standard schema, what its `validate` makes of them. Their numbers
   * are float64: `context.arguments` has all digits. The model gets what `run` returns: a string as it is, anything else as JSON.
   * What `run` throws, and calls that do not fit, go to the model as errors, and to the program: `onToolError`, `results` of
   * pieces, `calls` of the result.
   */
  run?(args: Record<string, unknown>, context: ToolContext): unknown;
}

/** A tool, in the form of the OpenAI API; with `run`, `chat` calls it. `tool` makes one whose `run` is typed. */
export interface ChatTool extends UnnamedTool {
  readonly function: ToolDescription & { readonly name: string };
}

/** Tools in a list, or by their names. */
export type ChatTools = readonly ChatTool[] | { readonly [name: string]: UnnamedTool };

/** Whether the model calls tools: as it likes, never, at least one, or this one. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly type?: 'function'; readonly name: string }
  | { readonly type: 'function'; readonly function: { readonly name: string } };

/** Options of a chat's tools and thoughts. */
export interface ToolOptions {
  /** Tools that the model may call. Those with `run` are called, and the answer goes on with their results. */
  tools?: ChatTools | undefined;
  /** Default 'auto'. 'none': the prompt does not name the tools. */
  toolChoice?: ToolChoice | undefined;
  /** Several calls in one answer; default true. False: the answer ends before the second call. */
  parallelCalls?: boolean | undefined;
  /** How the model writes calls; 'none': they stay text. Default: as its chat template announces. */
  callFormat?: CallFormat | 'none' | undefined;
  /** Most answers to one chat, where tools have `run`; default 8. `maxTokens` counts for each. */
  maxRounds?: number | undefined;
  /**
   * Called where a call has no result: what `run` threw, or a RuntimeError BAD_CALL for arguments that do not fit, or for
   * a tool that is none. The answer goes on; what this function throws ends it. Absent: a notice tells what `run` threw.
   */
  onToolError?: ((error: Error, call: AnswerCall) => void) | undefined;
  /** Whether the model thinks before it answers. Default: as its chat template says. */
  thinking?: boolean | undefined;
}

const toolChoice: Rule<ToolChoice> = {
  must: "'auto', 'none', 'required', or a tool: { name }, or { type: 'function', function: { name } }",
  holds: (value): value is ToolChoice =>
    value === 'auto' ||
    value === 'none' ||
    value === 'required' ||
    (rules.isObject(value) && typeof (value.function ?? value) === 'object' && nameIn(value) !== undefined),
};

const nameIn = (value: Readonly<Record<string, unknown>>): string | undefined => {
  const { name } = rules.isObject(value.function) ? value.function : value;
  return typeof name === 'string' ? name : undefined;
};

/** The one tool that a choice names; undefined for the other choices. */
export const chosenName = (choice: ToolChoice): string | undefined =>
  typeof choice === 'object' ? nameIn({ ...choice }) : undefined;

const toolsByName: Rule<never> = { ...rules.object, must: 'an object of tools by their names' };

/** What each option must be, and its default. */
export const toolSchema = {
  tools: {
    ...rules.either(rules.listOf('descriptions of tools', rules.object), toolsByName),
    about:
      'tools that the model may call, in the form of the OpenAI API, or by their names; `run` is called; `strict`: arguments fit the schema',
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
  onToolError: {
    ...rules.callback,
    about: 'called where a call of a tool has no result, with the error and the call',
    absent: 'a notice of what `run` throws',
  },
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
  readonly check: CheckArguments;
  readonly run?: ChatTool['run'];
  /** For the template. */
  readonly described: object;
}

type Fields = Readonly<Record<string, unknown>>;

/** The tools of a chat. @throws RuntimeError BAD_OPTION for a tool without a name, and for two of one name */
export function namedTools({ tools = [] }: Pick<ToolOptions, 'tools'>): NamedTool[] {
  if (!isList(tools)) return Object.entries(tools).map(([name, tool]) => toolOf(`tools.${name}`, tool, name));
  const named = tools.map((tool, index) => toolOf(`tools[${index}]`, tool));
  const twice = named.find(({ name }, index) => named.findIndex((other) => other.name === name) < index);
  if (twice) throw badOption(`tools has two tools of the name '${twice.name}'`, 'tools');
  return named;
}

/** Options with the tools as templates have them. @throws RuntimeError BAD_OPTION */
export const withDescribed = <O extends object>({ tools, ...others }: O & Pick<ToolOptions, 'tools'>) => ({
  ...others,
  ...(tools && { tools: namedTools({ tools }).map((tool) => tool.described) }),
});

const isList = (tools: ChatTools): tools is readonly ChatTool[] => Array.isArray(tools);

/** @param key the name in an object of tools */
function toolOf(where: string, tool: object, key?: string): NamedTool {
  const { run, ...described }: Fields = { ...tool };
  const inner = innerOf(where, described, key);
  const { strict, ...given } = inner ?? described;
  const { parameters } = given;
  const fields: Fields = {
    ...given,
    ...(key !== undefined && { name: key }),
    ...(parameters !== undefined && { parameters: jsonParameters(where, parameters) }),
  };
  needParts(where, { ...fields, type: described.type, run, strict });
  return {
    name: String(fields.name),
    parameters: fields.parameters,
    strict: strict === true,
    check: argumentsCheck(parameters, fields.parameters),
    described: inner ? { ...described, function: fields } : fields,
    ...(run !== undefined && { run: run as NonNullable<ChatTool['run']> }),
  };
}

const outerFields = ['type', 'function', 'run'];
const innerFields = ['name', 'description', 'parameters', 'strict'];

/** What stands in `function` of a tool; undefined where it stands in the tool itself, as in OpenAI's responses. */
function innerOf(where: string, described: Fields, key: string | undefined): Fields | undefined {
  const inner = rules.isObject(described.function) ? described.function : undefined;
  needToolFields(where, described, inner ? outerFields : [...outerFields, ...innerFields]);
  if (inner) needToolFields(`${where}.function`, inner, innerFields);
  if (inner && described.strict !== undefined)
    throw badOption(
      `${where}.strict belongs into its function: { function: { name, strict: true } }`,
      'tools',
    );
  if (key !== undefined && !inner)
    throw badOption(`${where} has no function: make it with tool({ description, parameters, run })`, 'tools');
  if (key !== undefined && inner?.name !== undefined && inner.name !== key)
    throw badOption(`${where} has another name, '${String(inner.name)}': leave it out`, 'tools');
  return inner;
}

function needParts(where: string, { type = 'function', name, run, strict }: Fields): void {
  if (typeof name !== 'string' || name === '')
    throw badOption(`${where} has no name: give { type: 'function', function: { name, … } }`, 'tools');
  if (type !== 'function')
    throw badOption(
      `${where}.type is ${showValue(type)}; only tools of the type 'function' are supported`,
      'tools',
    );
  if (run !== undefined && typeof run !== 'function')
    throw badOption(`${where}.run must be a function`, 'tools');
  if (typeof (strict ?? false) !== 'boolean')
    throw badOption(`${where} must have a strict of true or false`, 'tools');
}

/** The JSON schema of parameters that are a schema of Zod, Valibot …; others as they are. */
const jsonParameters = (where: string, parameters: unknown): unknown =>
  structuredSchema.schema.holds(parameters) ? parametersSchemaOf(where, parameters) : parameters;
