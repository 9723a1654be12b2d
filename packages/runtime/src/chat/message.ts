/** A part of a message's content list. The template decides which kinds it supports. */
export interface ContentPart {
  type: string;
  [field: string]: unknown;
}

/** A message of a chat, in the format of the OpenAI API. Templates see every field. */
export interface ChatMessage {
  /** 'system', 'user', 'assistant', 'tool', or any other role of the template. */
  role: string;
  content?: string | readonly ContentPart[] | null;
  [field: string]: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses the arguments of tool calls: the API sends JSON text, templates write objects as JSON themselves. */
export function withParsedArguments(message: ChatMessage): ChatMessage {
  if (!Array.isArray(message.tool_calls)) return message;
  const calls: readonly unknown[] = message.tool_calls;
  return { ...message, tool_calls: calls.map(parseCall) };
}

function parseCall(call: unknown): unknown {
  if (!isObject(call) || !isObject(call.function)) return call;
  return { ...call, function: { ...call.function, arguments: parseArguments(call.function.arguments) } };
}

function parseArguments(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : text;
  } catch {
    return text; // a model's output need not be JSON: the template gets the text
  }
}
