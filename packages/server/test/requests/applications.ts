/** Requests in the form of applications that speak OpenAI's chat completions: fields as they send them, texts of our own. */
import { called, parameters } from '../caller.js';

export interface Answer {
  readonly text: string;
  readonly calls: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

export interface Application {
  readonly headers: Readonly<Record<string, string>>;
  readonly first: object;
  /** The next request, with the answer and the result of its call. */
  readonly second: (answer: Answer) => object;
  /** Fields that change nothing, as the notice names them. */
  readonly ignored?: string;
}

export const question = 'What is in a.ts?';
export const system = 'You work on a program.';
export const result = 'let a;';

const text = (...texts: readonly string[]) => texts.map((each) => ({ type: 'text', text: each }));
const authorization = 'Bearer secret';
const described = { name: called.name, description: 'Reads a file.' };
const start = { role: 'system', content: system };
const withUsage = { stream: true, stream_options: { include_usage: true } };

const callsOf = ({ calls }: Answer) =>
  calls.map(({ id, function: { name, arguments: args } }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(JSON.parse(args)) },
  }));
const idOf = ({ calls }: Answer) => calls[0]?.id;

/** Of the AI SDK's provider for compatible servers: opencode, Jan. */
const aiSdk = (more: object) => {
  const body = (...messages: readonly object[]) => ({
    model: 'demo',
    ...more,
    messages: [start, { role: 'user', content: text(question, '<system-reminder>') }, ...messages],
    tools: [
      {
        type: 'function',
        function: {
          ...described,
          parameters: { $schema: 'http://json-schema.org/draft-07/schema#', ...parameters },
        },
      },
    ],
    tool_choice: 'auto',
    ...withUsage,
  });
  return {
    first: body(),
    second: (answer: Answer) =>
      body(
        { role: 'assistant', content: answer.text, tool_calls: callsOf(answer) },
        { role: 'tool', tool_call_id: idOf(answer), content: result },
      ),
  };
};

const opencode: Application = {
  headers: {
    authorization,
    'user-agent': 'opencode/1.2.6 ai-sdk/openai-compatible/1.0.32 runtime/bun/1.3.9',
  },
  ...aiSdk({ max_tokens: 32_000, temperature: 0, top_p: 1, reasoning_effort: 'medium' }),
};

const jan: Application = {
  headers: { authorization, origin: 'http://tauri.localhost' },
  ...aiSdk({
    temperature: 0,
    top_k: 20,
    top_p: 0.8,
    repeat_penalty: 1.12,
    max_tokens: 2048,
    frequency_penalty: 0,
    presence_penalty: 0,
  }),
};

const zedBody = (...messages: readonly object[]) => ({
  model: 'demo',
  messages: [start, { role: 'user', content: text(question, '<context>') }, ...messages],
  ...withUsage,
  temperature: 0,
  max_completion_tokens: 4096,
  parallel_tool_calls: false,
  prompt_cache_key: '7d3f',
  tools: [{ type: 'function', function: { ...described, parameters } }],
  tool_choice: 'auto',
});

const zed: Application = {
  headers: { authorization, 'user-agent': 'Zed/0.222.4 (linux; x86_64)' },
  first: zedBody(),
  second: (answer) =>
    zedBody(
      { role: 'assistant', content: answer.text, tool_calls: callsOf(answer), reasoning_content: 'A file.' },
      { role: 'tool', content: text(result), tool_call_id: idOf(answer) },
    ),
};

const ofOpenAI = (lang: string) => ({
  authorization,
  accept: 'application/json',
  'x-stainless-lang': lang,
  'x-stainless-retry-count': '0',
  'x-stainless-timeout': '600',
});

const clineBody = (more: object, messages: readonly object[]) => ({
  model: 'demo',
  messages: [
    start,
    { role: 'user', content: text(`<task>\n${question}\n</task>`, '<environment_details>') },
    ...messages,
  ],
  temperature: 0,
  ...withUsage,
  ...more,
});

const clineTools = {
  tools: [{ type: 'function', function: { ...described, strict: false, parameters } }],
  tool_choice: 'auto',
  parallel_tool_calls: false,
};

const cline: Application = {
  headers: { ...ofOpenAI('js'), 'user-agent': 'Cline/3.57.1' },
  first: clineBody(clineTools, []),
  second: (answer) =>
    clineBody(clineTools, [
      {
        role: 'assistant',
        content: answer.text,
        tool_calls: callsOf(answer),
        reasoning_details: [{ type: 'reasoning.text', text: 'A file.', index: 0 }],
      },
      { role: 'tool', tool_call_id: idOf(answer), content: result },
      { role: 'user', content: text('<environment_details>') },
    ]),
  ignored: 'messages.*.reasoning_details',
};

const clineOfText: Application = {
  headers: cline.headers,
  first: clineBody({}, []),
  second: (answer) =>
    clineBody({}, [
      { role: 'assistant', content: `${answer.text}\n<read_file>\n<path>a.ts</path>\n</read_file>` },
      { role: 'user', content: text("[read_file for 'a.ts'] Result:", result, '<environment_details>') },
    ]),
};

const aiderBody = (...messages: readonly object[]) => ({
  messages: [
    start,
    { role: 'user', content: 'Change greet() to say hi.' },
    { role: 'assistant', content: 'greet.py\n```\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n```' },
    { role: 'user', content: 'These files are in the chat.' },
    { role: 'assistant', content: 'Ok.' },
    { role: 'user', content: question },
    ...messages,
  ],
  model: 'demo',
  stream: true,
  temperature: 0,
});

const aider: Application = {
  headers: { ...ofOpenAI('python'), 'x-stainless-async': 'false', 'user-agent': 'OpenAI/Python 1.99.1' },
  first: aiderBody(),
  second: (answer) =>
    aiderBody(
      { role: 'assistant', content: answer.text },
      { role: 'user', content: 'The edits are committed.' },
      { role: 'assistant', content: 'Ok.' },
      { role: 'user', content: 'And b.ts?' },
    ),
};

const libreChatBody = (...messages: readonly object[]) => ({
  model: 'demo',
  temperature: 0,
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  user: '66f0c2',
  ...withUsage,
  tools: [{ type: 'function', function: { ...described, parameters } }],
  messages: [start, { role: 'user', content: question }, ...messages],
});

const libreChat: Application = {
  headers: ofOpenAI('js'),
  first: libreChatBody(),
  second: (answer) =>
    libreChatBody(
      {
        role: 'assistant',
        content: [{ ...text(answer.text)[0], tool_call_ids: [idOf(answer)] }],
        tool_calls: callsOf(answer),
      },
      { role: 'tool', content: result, name: called.name, tool_call_id: idOf(answer) },
    ),
  ignored: 'messages.*.content.*.tool_call_ids',
};

export const applications = {
  opencode,
  Zed: zed,
  Cline: cline,
  LibreChat: libreChat,
  Jan: jan,
} satisfies Record<string, Application>;

/** Those that write edits and calls as text. */
export const textApplications = { aider, 'Cline without tools': clineOfText } satisfies Record<
  string,
  Application
>;
