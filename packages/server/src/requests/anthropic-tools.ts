import type { ChatOptions } from '@quern/runtime';
import * as z from 'zod';
import { badField } from '../errors.js';
import { harmless } from './anthropic-blocks.js';
import { clientTool } from './anthropic-client-tools.js';
import { orNull } from './fields.js';
import type { FieldRules } from './parse.js';
import { described } from './tools.js';

/** How a tool is offered: all tools of a request are in its prompt from the start. */
const offered = { cache_control: harmless, defer_loading: harmless, eager_input_streaming: harmless };

const custom = z.strictObject({
  type: z
    .literal('custom')
    .nullish()
    .transform(() => 'custom' as const),
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
  ...offered,
});

/** A tool of Anthropic's own, by the type that has its version. */
const builtIn = z.looseObject({
  type: z.string().refine((type) => type !== 'custom'),
  name: z.string().min(1).max(128).optional(),
  strict: z.boolean().nullish(),
});

/** Fields of tools in messages. */
export const toolFields = {
  tools: orNull(z.array(z.union([custom, builtIn]))),
  tool_choice: orNull(
    z.strictObject({
      type: z.enum(['auto', 'any', 'tool', 'none']),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().nullish(),
    }),
  ),
};

type ToolFields = z.output<z.ZodObject<typeof toolFields>>;
type Tool = NonNullable<ToolFields['tools']>[number];

const choices = { auto: 'auto', any: 'required', none: 'none' } as const;

/**
 * The tools in OpenAI's form. Those that run on Anthropic's servers are left out and counted.
 * @throws ApiError 400 for them under `strict`
 */
export function toolsOf({ tools, tool_choice: choice }: ToolFields, rules: FieldRules): ChatOptions {
  if (!tools) return {};
  const own = tools.flatMap((tool, index) => ownTool(tool, index, rules));
  const named = choice?.type === 'tool' ? { name: choice.name ?? '' } : choice && choices[choice.type];
  const single = choice?.disable_parallel_tool_use ?? undefined;
  return {
    tools: own,
    toolChoice: named,
    parallelCalls: single === undefined ? undefined : !single,
  };
}

type Custom = z.output<typeof custom>;

const isCustom = (tool: Tool): tool is Custom => tool.type === 'custom';

function ownTool(tool: Tool, index: number, rules: FieldRules) {
  const { name, type, strict } = tool;
  if (isCustom(tool)) return [described({ ...tool, parameters: tool.input_schema })];
  const known = name === undefined ? undefined : clientTool(type);
  if (known) return [described({ name: name!, strict, ...known })];
  if (rules.strict) throw notOffered(type, index);
  rules.ignore([`tools.*.type=${type}`]);
  return [];
}

const notOffered = (type: string, index: number) =>
  badField(
    `tools.${index}.type`,
    `tools.${index}.type: the model cannot call "${type}": such tools run on Anthropic's servers, or answer with images`,
  );
