import type { AnswerCall } from '../chat/answer/index.js';
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
  const args = parseArguments(call.arguments);
  if (!args) return `Error: the arguments of '${call.name}' are not a JSON object: ${call.arguments}`;
  try {
    const result: unknown = await tool.run(args, { id: call.id, signal });
    return typeof result === 'string' ? result : (JSON.stringify(result) ?? '');
  } catch (error) {
    return `Error: ${messageOf(error)}`;
  }
}

function parseArguments(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
