import { stringifyJson } from '@quern/grammar';
import type { AnswerCall } from '../chat/answer/index.js';
import { callArguments } from '../chat/message.js';
import { messageOf } from '../error.js';
import type { NamedTool } from './tool-options.js';

/** Whether every call of an answer has a function, or names no tool at all: then the model is told so. */
export const canRun = (calls: readonly AnswerCall[], tools: readonly NamedTool[]): boolean =>
  tools.some(({ run }) => run) &&
  calls.every(
    ({ name }) => tools.find((tool) => tool.name === name)?.run || !tools.some((tool) => tool.name === name),
  );

/** The results of calls, for the model. Never rejects: an error is a result. */
export const runCalls = (
  calls: readonly AnswerCall[],
  tools: readonly NamedTool[],
  signal: AbortSignal,
): Promise<string[]> => Promise.all(calls.map((call) => runCall(call, tools, signal)));

async function runCall(call: AnswerCall, tools: readonly NamedTool[], signal: AbortSignal): Promise<string> {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool?.run)
    return `Error: there is no tool '${call.name}'; there are ${tools.map(({ name }) => `'${name}'`).join(', ')}`;
  const args = argumentsOf(call);
  if (!args) return `Error: the arguments of '${call.name}' are not a JSON object: ${call.arguments}`;
  try {
    const result: unknown = await tool.run(args, { id: call.id, arguments: call.arguments, signal });
    return typeof result === 'string' ? result : (stringifyJson(result) ?? '');
  } catch (error) {
    return `Error: ${messageOf(error)}`;
  }
}

/** Numbers as JavaScript has them. */
const argumentsOf = ({ arguments: text }: AnswerCall): Record<string, unknown> | undefined =>
  callArguments(text) && ((JSON.parse(text.trim() || '{}') ?? {}) as Record<string, unknown>);

/** A call as a message shows it: broken arguments, which its result tells of, would end the chat. */
export const readable = (call: AnswerCall): AnswerCall =>
  callArguments(call.arguments) ? call : { ...call, arguments: '{}' };
