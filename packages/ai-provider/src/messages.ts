import {
  type LanguageModelV3Message,
  type LanguageModelV3Prompt,
  type LanguageModelV3ToolResultPart,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { type ChatMessage, stringifyJson } from '@quern/runtime';

type Message<Role extends LanguageModelV3Message['role']> = Extract<LanguageModelV3Message, { role: Role }>;

/**
 * The SDK's messages in OpenAI's form, which templates know.
 * @throws UnsupportedFunctionalityError for contents that no text model reads
 */
export const chatMessages = (prompt: LanguageModelV3Prompt): ChatMessage[] =>
  prompt.flatMap((message): ChatMessage[] => {
    switch (message.role) {
      case 'system':
        return [{ role: 'system', content: message.content }];
      case 'user':
        return [userMessage(message)];
      case 'assistant':
        return [assistantMessage(message)];
      case 'tool':
        return message.content.filter((part) => part.type === 'tool-result').map(toolMessage);
    }
  });

function userMessage({ content }: Message<'user'>): ChatMessage {
  const parts = content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    throw unsupported(`a file of the type ${part.mediaType} in a user message`);
  });
  return { role: 'user', content: parts.length === 1 ? parts[0]!.text : parts };
}

function assistantMessage({ content }: Message<'assistant'>): ChatMessage {
  const other = content.find(({ type }) => type === 'file' || type === 'tool-result');
  if (other) throw unsupported(`a part of the type ${other.type} in an assistant message`);
  const text = (type: 'text' | 'reasoning') =>
    content.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('');
  const calls = content.filter((part) => part.type === 'tool-call');
  return {
    role: 'assistant',
    content: text('text'),
    ...(text('reasoning') !== '' && { reasoning_content: text('reasoning') }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ toolCallId, toolName, input }) => ({
        id: toolCallId,
        type: 'function',
        function: { name: toolName, arguments: argumentsOf(input) },
      })),
    }),
  };
}

/** A call whose input is no object has failed: its result says what was wrong, and templates need an object. */
const argumentsOf = (input: unknown): string =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? stringifyJson(input)! : '{}';

const toolMessage = ({ toolCallId, toolName, output }: LanguageModelV3ToolResultPart): ChatMessage => ({
  role: 'tool',
  tool_call_id: toolCallId,
  name: toolName,
  content: resultText(output),
});

function resultText(output: LanguageModelV3ToolResultPart['output']): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason ?? 'The call was denied.';
    case 'content':
      return output.value.map(partText).join('\n');
  }
}

function partText(part: { readonly type: string; readonly text?: string }): string {
  if (part.type === 'text' && part.text !== undefined) return part.text;
  throw unsupported(`a part of the type ${part.type} in a tool's result`);
}

const unsupported = (functionality: string): UnsupportedFunctionalityError =>
  new UnsupportedFunctionalityError({
    functionality,
    message: `${functionality} is not supported: the model reads text alone`,
  });
