import { parseJson, stringifyJson } from '@quern/grammar';
import { badArgument } from './error.js';
import type { commonRoles } from './roles.js';

/** A part of a message's content list. The template decides which kinds it supports. */
export interface ContentPart {
  type: string;
  [field: string]: unknown;
}

/** A role of a message: a common one, one that the template names (`developer`, `ipython` …), or one of `roles`. */
export type ChatRole = (typeof commonRoles)[number] | (string & Record<never, never>);

export type ChatContent = string | readonly ContentPart[] | Readonly<Record<string, unknown>> | null;

/** A call of a tool in a message of an assistant. */
export interface MessageCall {
  id?: string | undefined;
  type?: string | undefined;
  function: {
    name: string;
    /** JSON text, as in the OpenAI API, or the object. */
    arguments: string | object;
  };
}

interface MessageFields {
  role: ChatRole;
  name?: string | undefined;
  /** Of a message of role 'tool': the id of its call. */
  tool_call_id?: string | undefined;
  /** What an assistant thought before it answered. */
  reasoning_content?: string | null | undefined;
}

/**
 * A message of a chat, in the format of the OpenAI API. A template sees all fields, also those that this type does not
 * name: give them by a type of your own that extends this one.
 */
export type ChatMessage = MessageFields &
  (
    | { content: ChatContent; tool_calls?: readonly MessageCall[] | null | undefined }
    | { content?: ChatContent | undefined; tool_calls: readonly MessageCall[] }
  );

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses the arguments of tool calls, with all digits of their numbers: the API sends JSON text, templates write objects
 * as JSON themselves. An empty list of calls is left out: some templates only ask whether the field is there.
 *
 * @throws ChatTemplateError BAD_ARGUMENT for arguments that are not a JSON object
 */
export function withParsedArguments(message: ChatMessage, index: number): ChatMessage {
  if (!('tool_calls' in message)) return message;
  const { tool_calls: given, ...others } = message;
  const calls: unknown = given ?? [];
  if (!Array.isArray(calls))
    throw badArgument(`messages[${index}].tool_calls must be a list of calls`, 'messages');
  if (calls.length === 0) return others as ChatMessage;
  const place = (at: number) => `messages[${index}].tool_calls[${at}].function.arguments`;
  const parsed = calls.map((call: unknown, at) => parseCall(call, place(at)));
  return { ...others, tool_calls: parsed as MessageCall[] } as ChatMessage;
}

function parseCall(call: unknown, place: string): unknown {
  if (!isObject(call) || !isObject(call.function)) return call;
  return {
    ...call,
    function: { ...call.function, arguments: parseArguments(call.function.arguments, place) },
  };
}

function parseArguments(given: unknown, place: string): unknown {
  const value = typeof given === 'string' ? callArguments(given) : (given ?? {});
  if (isObject(value)) return value;
  const shown = typeof given === 'string' ? given : (stringifyJson(given) ?? String(given));
  throw badArgument(
    `${place} must be a JSON object; got ${shown.length > 100 ? `${shown.slice(0, 100)} …` : shown}: repair the arguments, or leave the call and its result out`,
    'messages',
  );
}

/**
 * The arguments of a call as an object, with all digits of their numbers: an empty one for an empty text and for null,
 * undefined for any other text.
 */
export function callArguments(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {};
  try {
    const value = parseJson(text) ?? {};
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
