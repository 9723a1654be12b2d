// Two rounds in the form of applications: chat completions, Ollama's API.
import type { ChatMessage, ContentPart } from '@quern/runtime';
import { called, said, servedCaller, tokens } from './caller.js';
import {
  type Answer,
  type Application,
  applications,
  question,
  result,
  system,
  textApplications,
} from './requests/applications.js';
import { aider, type OllamaMessage, ollamaApplications } from './requests/ollama-applications.js';
import { json, post, serving } from './serving.js';

const caller = servedCaller();

/** A message of a chat, its text in one piece. */
const shown = ({ role, content, tool_calls, tool_call_id }: ChatMessage) => ({
  role,
  text: Array.isArray(content) ? content.map(({ text }: ContentPart) => text).join('\n') : content,
  calls: tool_calls?.map(({ id, function: { name } }) => ({ id, name })),
  of: tool_call_id,
});

/** The chat of a second round, up to the result of the call. */
const round = (id: unknown) => [
  { role: 'system', text: system },
  { role: 'user', text: expect.stringContaining(question) },
  { role: 'assistant', text: said, calls: [{ id, name: called.name }] },
  { role: 'tool', text: result, of: id },
];

const chatted = () => caller.chats[1]!.map(shown);

interface Choice {
  readonly finish_reason: string | null;
  readonly delta: {
    readonly content?: string;
    readonly tool_calls?: readonly {
      readonly id?: string;
      readonly function: { readonly name?: string; readonly arguments?: string };
    }[];
  };
}

/** The answer that a stream of chat completions makes. */
async function answerTo(body: object, headers: Readonly<Record<string, string>>) {
  const response = await post(`${caller.url}/v1/chat/completions`, body, headers);
  const lines = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => data!);
  expect([response.status, lines.pop()]).toEqual([200, '[DONE]']);
  const events = lines.map((line) => JSON.parse(line));
  const choices: readonly Choice[] = events.flatMap((event) => event.choices);
  const parts = choices.flatMap(({ delta }) => delta.tool_calls ?? []);
  const args = parts.map((part) => part.function.arguments ?? '').join('');
  const answer: Answer = {
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    calls: parts.flatMap(({ id, function: { name } }) =>
      id === undefined || name === undefined ? [] : [{ id, function: { name, arguments: args } }],
    ),
  };
  return {
    answer,
    reason: choices.at(-1)!.finish_reason,
    usage: events.at(-1).usage,
    notice: response.headers.get('x-quern-notice'),
  };
}

describe('chat completions', () => {
  test.each(Object.entries<Application>(applications))(
    '%s: a call and its result',
    async (_, { headers, first, second, ignored = null }) => {
      const { answer, reason, usage, notice } = await answerTo(first, headers);
      expect(answer).toEqual({ text: said, calls: [{ id: expect.any(String), function: called }] });
      expect([reason, usage.completion_tokens, notice]).toEqual(['tool_calls', tokens, null]);
      const next = await answerTo(second(answer), headers);
      expect(next.answer).toMatchObject({ text: said, calls: [{ function: called }] });
      expect(next.notice).toBe(ignored && `ignored fields: ${ignored}`);
      expect(chatted().slice(0, 4)).toMatchObject(round(answer.calls[0]!.id));
    },
  );

  test.each(Object.entries<Application>(textApplications))(
    '%s: two rounds of text',
    async (_, { headers, first, second }) => {
      const { answer, reason, notice } = await answerTo(first, headers);
      expect([answer.text, answer.calls, reason]).toEqual([expect.stringContaining(said), [], 'stop']);
      const next = await answerTo(second(answer), headers);
      expect([next.answer.text, notice, next.notice]).toEqual([answer.text, null, null]);
      const texts = chatted().map(({ role, text }) => `${role}: ${text}`);
      expect(texts).toContainEqual(expect.stringContaining(`assistant: ${answer.text}`));
      expect(texts.at(-1)).toMatch(/^user: /);
    },
  );

  test('Jan without a key: its origin must be allowed', async () => {
    const { headers, first } = applications.Jan;
    const { authorization: _, ...keyless } = headers;
    const refusing = await serving(caller.model);
    const allowing = await serving(caller.model, { cors: 'http://tauri.localhost' });
    const path = '/v1/chat/completions';
    const refused = await post(`${refusing.url}${path}`, first, keyless);
    expect([refused.status, (await json(refused)).error.message]).toEqual([
      403,
      expect.stringContaining('--cors-origin http://tauri.localhost'),
    ]);
    const allowed = await post(`${allowing.url}${path}`, first, keyless);
    expect([allowed.status, await allowed.text()]).toEqual([200, expect.stringContaining('[DONE]')]);
    await Promise.all([refusing.close(), allowing.close()]);
  });
});

/** The message that the lines of /api/chat make. */
async function messageOf(body: object): Promise<OllamaMessage & { readonly notice: string | null }> {
  const response = await post(`${caller.url}/api/chat`, body, { authorization: 'Bearer secret' });
  const lines = (await response.text()).trimEnd().split('\n');
  const parts = lines.map((line) => JSON.parse(line));
  expect([response.status, parts.at(-1)]).toMatchObject([200, { done: true, done_reason: 'stop' }]);
  return {
    content: parts.map(({ message }) => message.content).join(''),
    tool_calls: parts.flatMap(({ message }) => message.tool_calls ?? []),
    notice: response.headers.get('x-quern-notice'),
  };
}

const widerContext = expect.stringMatching(/^num_ctx is ignored: [^;]*$/);

describe('Ollama’s API', () => {
  test.each([
    ['Zed', ollamaApplications.Zed, null],
    ['Cline', ollamaApplications.Cline, widerContext],
  ])('%s: a call and its result', async (_, { first, second }, notice) => {
    const message = await messageOf(first);
    const given = { function: { name: called.name, arguments: JSON.parse(called.arguments) } };
    expect(message).toMatchObject({ content: said, tool_calls: [given], notice });
    expect(await messageOf(second(message))).toMatchObject({ content: said, tool_calls: [given], notice });
    const [, , { calls } = {}] = chatted();
    expect(chatted()).toMatchObject(round(calls![0]!.id));
  });

  test('aider: two rounds of text', async () => {
    const message = await messageOf(aider.first);
    expect(message).toMatchObject({
      content: expect.stringContaining(said),
      tool_calls: [],
      notice: widerContext,
    });
    expect((await messageOf(aider.second(message))).content).toBe(message.content);
    expect(chatted().map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  });

  test('tool_choice is honoured', async () => {
    const body = { ...ollamaApplications.Cline.first, tool_choice: 'none' };
    expect((await messageOf(body)).tool_calls).toEqual([]);
  });
});

describe('images in a conversation', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const looked = { role: 'user', content: [{ type: 'text', text: 'Look!' }, image] };
  const call = { id: 'c1', type: 'function', function: { name: called.name, arguments: '{}' } };
  const shot = [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'A screenshot.' }, image] },
  ];
  const ofOllama = { role: 'user', content: 'Look!', images: ['AAAA'] };
  const ending = [
    { role: 'assistant', content: 'A cat.' },
    { role: 'user', content: question },
  ];

  const greedy = { temperature: 0, options: { temperature: 0 } };
  const send = (path: string, messages: readonly object[]) =>
    post(`${caller.url}${path}`, { ...greedy, messages, stream: false }, { authorization: 'Bearer secret' });

  const stands = '[an image that you cannot read]';

  test.each([
    [
      'chat completions',
      '/v1/chat/completions',
      [looked, ...ending],
      [`Look!\n${stands}`, 'A cat.', question],
    ],
    [
      'chat completions, in the result of a call',
      '/v1/chat/completions',
      [ending[1]!, ...shot],
      [question, null, `A screenshot.\n${stands}`],
    ],
    ['Ollama’s API', '/api/chat', [ofOllama, ...ending], [`Look!\n${stands}`, 'A cat.', question]],
  ])('%s: a text stands for an earlier one', async (_, path, messages, texts) => {
    const response = await send(path, messages);
    expect([response.status, response.headers.get('x-quern-notice')]).toEqual([
      200,
      expect.stringContaining(
        'this model reads no images, sounds or files: a text says that there was an image',
      ),
    ]);
    expect(caller.chats[0]!.map(shown)).toMatchObject(texts.map((text) => ({ text })));
  });

  test.each([
    ['/v1/chat/completions', looked, 'messages.1.content'],
    ['/api/chat', ofOllama, 'messages.1.images'],
  ])('%s: one that is asked about now is refused', async (path, message, place) => {
    const response = await send(path, [ending[0]!, message]);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(place)]);
  });
});

test('what is null is absent', async () => {
  const prompt = async (tool: object, message: object) => {
    const messages = [{ role: 'user', content: question, ...message }];
    const tools = [{ type: 'function', function: { name: called.name, ...tool } }];
    const body = { messages, tools };
    return json(await post(`${caller.url}/apply-template`, body, { authorization: 'Bearer secret' }));
  };
  const absent = await prompt({}, {});
  expect(absent).toEqual({ prompt: expect.stringContaining(called.name) });
  expect(await prompt({ description: null, parameters: null }, { name: null })).toEqual(absent);
});
