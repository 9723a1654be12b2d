/** Requests in the form of applications that speak Ollama's API: fields as they send them, texts of our own. */
import { called, parameters } from '../caller.js';
import { question, result, system } from './applications.js';

export interface OllamaApplication {
  readonly first: object;
  /** The next request, with the message of the answer and the result of its call. */
  readonly second: (message: OllamaMessage) => object;
}

export interface OllamaMessage {
  readonly content: string;
  readonly tool_calls: readonly { readonly id: string; readonly function: { readonly arguments: object } }[];
}

const start = [
  { role: 'system', content: system },
  { role: 'user', content: question },
];
const tools = [
  { type: 'function', function: { name: called.name, description: 'Reads a file.', parameters } },
];

const callsOf = ({ tool_calls }: OllamaMessage) =>
  tool_calls.map(({ function: { arguments: args } }) => ({
    function: { name: called.name, arguments: args },
  }));

const zedBody = (...messages: readonly object[]) => ({
  model: 'demo:latest',
  messages: [...start, ...messages],
  stream: true,
  keep_alive: -1,
  options: { num_ctx: 2048, num_predict: null, stop: [], temperature: 0, top_p: null },
  tools,
  think: false,
});

const zed: OllamaApplication = {
  first: zedBody(),
  second: (message) =>
    zedBody(
      { role: 'assistant', content: message.content, tool_calls: callsOf(message), thinking: null },
      { role: 'tool', tool_name: called.name, content: result },
    ),
};

const clineBody = (...messages: readonly object[]) => ({
  model: 'demo',
  messages: [...start, ...messages],
  tools,
  tool_choice: 'auto',
  stream: true,
  options: { num_ctx: 32_768, temperature: 0 },
});

const cline: OllamaApplication = {
  first: clineBody(),
  second: (message) =>
    clineBody(
      {
        role: 'assistant',
        content: message.content,
        tool_calls: message.tool_calls.map(({ id, function: given }) => ({
          id,
          type: 'function',
          function: { ...given, name: called.name },
        })),
      },
      { role: 'tool', content: result, tool_call_id: message.tool_calls[0]!.id },
    ),
};

export const ollamaApplications = { Zed: zed, Cline: cline } satisfies Record<string, OllamaApplication>;

const aiderBody = (...messages: readonly object[]) => ({
  model: 'demo',
  messages: [...start, ...messages],
  options: { temperature: 0, num_ctx: 8420 },
  stream: true,
});

/** aider, through LiteLLM's `ollama_chat`; it writes edits as text. */
export const aider: OllamaApplication = {
  first: aiderBody(),
  second: ({ content }) =>
    aiderBody(
      { role: 'assistant', content },
      { role: 'user', content: 'The edits are committed. And b.ts?' },
    ),
};
