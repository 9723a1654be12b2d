import type { ChatOptions, ToolChoice } from '@quern/runtime';
import * as z from 'zod';
import { badField } from '../errors.js';
import { orNull } from './fields.js';

const schema = z.record(z.string(), z.unknown());

const tool = z.strictObject({
  type: z.literal('function', { error: 'only tools of the type function are supported' }),
  function: z.strictObject({
    name: z.string().min(1).max(128),
    description: orNull(z.string()),
    parameters: orNull(schema),
    strict: z.boolean().nullish(),
  }),
});

/** Fields of tools in chat completions. */
export const toolFields = {
  tools: orNull(z.array(tool).max(256)),
  tool_choice: orNull(
    z.union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
    ]),
  ),
  parallel_tool_calls: orNull(z.boolean()),
};

type ToolFields = z.output<z.ZodObject<typeof toolFields>>;

export function toolOptions({ tools, tool_choice, parallel_tool_calls }: Partial<ToolFields>): ChatOptions {
  const toolChoice: ToolChoice | undefined =
    typeof tool_choice === 'object' ? { name: tool_choice.function.name } : tool_choice;
  return { tools: tools && [...tools], toolChoice, parallelCalls: parallel_tool_calls };
}

interface FlatTool {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: object | null | undefined;
  readonly strict?: boolean | null | undefined;
}

/** A tool in the form of chat completions. */
export const described = ({ name, description, parameters, strict }: FlatTool) => ({
  type: 'function' as const,
  function: { name, ...(description && { description }), ...(parameters && { parameters }), strict },
});

/**
 * The arguments of a call in the history, which the templates write as an object: an empty text is an empty one.
 * @throws ApiError 400 that names the field
 */
export function needArguments(text: string, param: string): void {
  if (text.trim() === '' || isObjectText(text)) return;
  const shown = text.length > 100 ? `${text.slice(0, 100)} …` : text;
  throw badField(
    param,
    `${param} must be a JSON object; got ${shown}: repair the arguments, or leave the call and its result out`,
  );
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return value === null || (typeof value === 'object' && !Array.isArray(value));
  } catch {
    return false;
  }
}
