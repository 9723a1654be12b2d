import type { ChatOptions, ToolChoice } from '@quern/runtime';
import * as z from 'zod';
import { badField } from '../errors.js';
import { orNull } from './fields.js';
import { listed } from './listed.js';
import { described } from './tools.js';

const schema = z.record(z.string(), z.unknown());
const name = z.string().min(1).max(128);

const functionTool = z.strictObject({
  type: z.literal('function'),
  name,
  description: z.string().nullish(),
  parameters: schema.nullish(),
  strict: z.boolean().nullish(),
});

const customTool = z.strictObject({
  type: z.literal('custom'),
  name,
  description: z.string().nullish(),
  format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('grammar'), syntax: z.string(), definition: z.string() }),
    ])
    .nullish(),
});

const callable = z.discriminatedUnion('type', [functionTool, customTool]);

/** An object of another type than these: kept for the response. */
const otherThan = (...types: readonly string[]) =>
  z.looseObject({ type: z.string().refine((type) => !types.includes(type), { abort: true }) });

/** Tools with a common name before theirs. */
const namespaceTool = z.strictObject({
  type: z.literal('namespace'),
  name,
  description: z.string().nullish(),
  tools: z.array(z.union([callable, otherThan('function', 'custom')])),
});

const hostedTool = otherThan('function', 'custom', 'namespace');

const tool = z.union([z.discriminatedUnion('type', [functionTool, customTool, namespaceTool]), hostedTool]);

const namedChoice = z.strictObject({ type: z.enum(['function', 'custom']), name: z.string() });

const allowedChoice = z.strictObject({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })),
});

/** Fields of tools in responses. */
export const responseToolFields = {
  tools: orNull(z.array(tool).max(256)),
  tool_choice: orNull(
    z.union([
      z.enum(['none', 'auto', 'required']),
      namedChoice,
      allowedChoice,
      otherThan('function', 'custom', 'allowed_tools'),
    ]),
  ),
  parallel_tool_calls: orNull(z.boolean()),
};

type ToolFields = z.output<z.ZodObject<typeof responseToolFields>>;
type Tool = z.output<typeof tool>;
type Callable = z.output<typeof callable>;

/** Whom a call goes to. */
export interface Callee {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The tools of a request as the model sees them. */
export interface ResponseTools {
  readonly options: ChatOptions;
  /** By the names that the model sees. */
  readonly callees: ReadonlyMap<string, Callee>;
  readonly notices: readonly string[];
}

/** The name that the model sees: that of a tool in a namespace begins with the namespace. */
export const shownName = ({
  name,
  namespace,
}: {
  readonly name: string;
  readonly namespace?: string | null | undefined;
}): string => (namespace ? `${namespace}${namespace.endsWith('_') ? '' : '__'}${name}` : name);

interface ShownTool {
  readonly callee: Callee;
  readonly described: ReturnType<typeof described>;
}

const input = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

/** A tool as a function; that of a custom tool has one text, `input`. */
function shown(tool: Callable, namespace?: string): ShownTool {
  const { type, name } = tool;
  const callee: Callee = { type, name, ...(namespace !== undefined && { namespace }) };
  const own = { name: shownName(callee), description: tool.description };
  if (tool.type === 'function')
    return { callee, described: described({ ...own, parameters: tool.parameters, strict: tool.strict }) };
  const description = [tool.description, grammarOf(tool)].filter(Boolean).join('\n\n');
  return { callee, described: described({ ...own, description, parameters: input, strict: true }) };
}

const grammarOf = ({ format }: z.output<typeof customTool>): string | undefined =>
  format?.type === 'grammar'
    ? `The input follows this grammar (${format.syntax}):\n${format.definition}`
    : undefined;

const isCallable = (tool: { readonly type: string }): tool is Callable =>
  tool.type === 'function' || tool.type === 'custom';

const isNamespace = (tool: Tool): tool is z.output<typeof namespaceTool> => tool.type === 'namespace';

const shownTools = (tools: readonly Tool[]): readonly ShownTool[] =>
  tools.flatMap((tool) => {
    if (isCallable(tool)) return [shown(tool)];
    return isNamespace(tool) ? tool.tools.filter(isCallable).map((each) => shown(each, tool.name)) : [];
  });

/** All tools, also those of namespaces. */
const flat = (tools: readonly Tool[]) => tools.flatMap((tool) => (isNamespace(tool) ? tool.tools : [tool]));

/** @throws ApiError 400 for a choice that the tools do not allow */
export function responseTools({
  tools = [],
  tool_choice: choice,
  parallel_tool_calls,
}: ToolFields): ResponseTools {
  const skipped = flat(tools).flatMap((tool) => (isCallable(tool) ? [] : [tool.type]));
  const all = shownTools(tools);
  const list = allowedChoice.safeParse(choice);
  const chosen = list.success ? allowed(all, list.data) : all;
  const toolChoice = choiceOf(choice, all);
  if (toolChoice === 'required' && chosen.length === 0 && tools.length > 0) throw noneLeft(skipped);
  return {
    options: {
      ...(tools.length > 0 && { tools: chosen.map((each) => each.described) }),
      toolChoice,
      parallelCalls: parallel_tool_calls,
    },
    callees: new Map(chosen.map(({ callee }) => [shownName(callee), callee])),
    notices: [...skippedNotice(skipped), ...grammarNotices(tools)],
  };
}

const skippedNotice = (types: readonly string[]): string[] =>
  types.length > 0 ? [`tools that this server does not have: ${listed(types)}`] : [];

function grammarNotices(tools: readonly Tool[]): string[] {
  const names = flat(tools)
    .filter((tool): tool is z.output<typeof customTool> => tool.type === 'custom')
    .filter(({ format }) => format?.type === 'grammar')
    .map(({ name }) => name);
  return names.length > 0
    ? [`grammars that are shown to the model and not enforced: those of ${listed(names)}`]
    : [];
}

/** The tools that may be called. */
const allowed = (tools: readonly ShownTool[], { tools: names }: z.output<typeof allowedChoice>) =>
  tools.filter(({ callee }) => names.some(({ type, name }) => type === callee.type && name === callee.name));

function choiceOf(choice: ToolFields['tool_choice'], tools: readonly ShownTool[]): ToolChoice | undefined {
  if (typeof choice !== 'object') return choice;
  const named = namedChoice.safeParse(choice);
  if (named.success) {
    const { type, name } = named.data;
    const tool = tools.find(({ callee }) => callee.type === type && callee.name === name);
    return { name: tool ? shownName(tool.callee) : name };
  }
  const list = allowedChoice.safeParse(choice);
  if (list.success) return list.data.mode;
  throw badField(
    'tool_choice',
    `tool_choice is ${listed([choice.type])}, a type of tools that this server does not have`,
  );
}

const noneLeft = (types: readonly string[]) =>
  badField(
    'tool_choice',
    `tool_choice requires a call, but no tool can be called${types.length > 0 ? `: this server does not have ${listed(types)}` : ''}`,
  );
