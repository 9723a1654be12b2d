import { stringifyJson } from '@quern/grammar';
import type { AnswerCall } from '../chat/answer/index.js';
import { callArguments } from '../chat/message.js';
import { messageOf, RuntimeError } from '../error.js';
import { needArguments } from './check-arguments.js';
import type { NamedTool } from './tool-options.js';

/** What became of a call of a tool. */
export interface CallOutcome {
  /** What `run` returned. */
  readonly result?: unknown;
  /** Why there is no result: what `run` threw, or a RuntimeError BAD_CALL. */
  readonly error?: Error;
  /** What the model is told. */
  readonly content: string;
}

/** Where calls report their errors. */
export type ReportError = (error: Error, call: AnswerCall) => void;

/** Whether every call of an answer has a function, or names no tool at all: then the model is told so. */
export const canRun = (calls: readonly AnswerCall[], tools: readonly NamedTool[]): boolean =>
  tools.some(({ run }) => run) &&
  calls.every(
    ({ name }) => tools.find((tool) => tool.name === name)?.run || !tools.some((tool) => tool.name === name),
  );

/** Runs calls side by side. An error of a call is its outcome; rejects only with what `report` throws. */
export const runCalls = (
  calls: readonly AnswerCall[],
  tools: readonly NamedTool[],
  signal: AbortSignal,
  report: ReportError,
): Promise<CallOutcome[]> => Promise.all(calls.map((call) => runCall(call, tools, signal, report)));

async function runCall(
  call: AnswerCall,
  tools: readonly NamedTool[],
  signal: AbortSignal,
  report: ReportError,
): Promise<CallOutcome> {
  try {
    const { run, check } = toolOf(call, tools);
    const args = await checked(call, check);
    const result: unknown = await run(args as Record<string, unknown>, {
      id: call.id,
      arguments: call.arguments,
      signal,
    });
    return { result, content: typeof result === 'string' ? result : (stringifyJson(result) ?? '') };
  } catch (cause) {
    const error = asError(cause);
    if (!signal.aborted) report(error, call);
    return { error, content: `Error: ${error.message}` };
  }
}

/** @throws RuntimeError BAD_CALL */
function toolOf({ name }: AnswerCall, tools: readonly NamedTool[]) {
  const found = tools.find((tool) => tool.name === name);
  if (found?.run) return { check: found.check, run: found.run };
  const names = tools.map((tool) => `'${tool.name}'`).join(', ');
  throw new RuntimeError('BAD_CALL', `there is no tool '${name}'; known tools: ${names}`);
}

/** @throws RuntimeError BAD_CALL; BAD_GRAMMAR where the schema of the tool is wrong */
async function checked(call: AnswerCall, check: NamedTool['check']): Promise<unknown> {
  const { name } = call;
  const args = argumentsOf(call);
  if (!args)
    throw new RuntimeError('BAD_CALL', `the arguments of '${name}' are not a JSON object: ${call.arguments}`);
  try {
    return needArguments(name, await check(args));
  } catch (cause) {
    if (cause instanceof RuntimeError) throw cause;
    const why = messageOf(cause).split('\n')[0];
    throw new RuntimeError('BAD_GRAMMAR', `the parameters of '${name}' cannot be checked: ${why}`, { cause });
  }
}

const asError = (cause: unknown): Error =>
  cause instanceof Error ? cause : new Error(String(cause), { cause });

/** Numbers as JavaScript has them. */
const argumentsOf = ({ arguments: text }: AnswerCall): Record<string, unknown> | undefined =>
  callArguments(text) && ((JSON.parse(text.trim() || '{}') ?? {}) as Record<string, unknown>);

/** A call as a message shows it: broken arguments, which its result tells of, would end the chat. */
export const readable = (call: AnswerCall): AnswerCall =>
  callArguments(call.arguments) ? call : { ...call, arguments: '{}' };
