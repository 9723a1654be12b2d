// Calls of tools in the three forms, enforced by the grammar of the model's family.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { hermesTemplate } from './hermes-template.mjs';
import { loadDemo, served } from './serving.js';

const server = served(() => loadDemo(4, { chatTemplate: hermesTemplate, context: 1024 }));

const parameters = {
  type: 'object',
  properties: { city: { enum: ['Rome', 'Oslo "x" {}'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const tool = (name: string) => ({
  type: 'function' as const,
  function: { name, description: 'x', parameters },
});
const messages = [{ role: 'user' as const, content: 'The weather?' }];
const needArguments = (text: string, name = 'weather') => {
  expect(name).toMatch(/^(weather|news)$/);
  expect(JSON.parse(text)).toEqual({ city: expect.stringMatching(/^(Rome|Oslo)/), days: expect.any(Number) });
};

describe('chat completions', () => {
  const client = () => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const ask = {
    model: 'demo',
    messages,
    tools: [tool('weather'), tool('news')],
    temperature: 1,
    seed: 1,
    max_tokens: 200,
  };

  test.each([1, 2, 3])('required, seed %d: whole and streamed alike', async (seed) => {
    const options = { ...ask, seed, tool_choice: 'required', parallel_tool_calls: false } as const;
    const { choices } = await client().chat.completions.create(options);
    expect(choices[0]!.finish_reason).toBe('tool_calls');
    const calls = choices[0]!.message.tool_calls!;
    expect(calls).toHaveLength(1);
    const [call] = calls;
    if (call!.type !== 'function') throw new Error('not a function');
    needArguments(call!.function.arguments, call!.function.name);
    let [name, text, id, reason] = ['', '', '', ''];
    for await (const {
      choices: [choice],
    } of await client().chat.completions.create({ ...options, stream: true })) {
      const [delta] = choice!.delta.tool_calls ?? [];
      expect(delta?.index ?? 0).toBe(0);
      id += delta?.id ?? '';
      name += delta?.function?.name ?? '';
      text += delta?.function?.arguments ?? '';
      reason = choice!.finish_reason ?? reason;
    }
    expect([name, text, reason]).toEqual([call!.function.name, call!.function.arguments, 'tool_calls']);
    expect(id).not.toBe('');
  });

  test('one tool by name; none; a round with its result', async () => {
    const named = { type: 'function', function: { name: 'news' } } as const;
    const first = await client().chat.completions.create({ ...ask, tool_choice: named });
    const { message } = first.choices[0]!;
    const [call] = message.tool_calls!;
    expect(call).toMatchObject({ function: { name: 'news' } });
    const answer = { role: 'tool' as const, tool_call_id: call!.id, content: 'rain' };
    const talk: OpenAI.ChatCompletionMessageParam[] = [...messages, message, answer];
    const next = { ...ask, messages: talk, tool_choice: 'none' as const, max_tokens: 5, temperature: 0 };
    const second = await client().chat.completions.create(next);
    expect(second.choices[0]!.message.tool_calls).toBeUndefined();
    expect(second.usage!.completion_tokens).toBe(5);
  });

  test('wrong tools and choices', async () => {
    const create = (more: object) => client().chat.completions.create({ ...ask, ...more });
    await expect(
      create({ tool_choice: { type: 'function', function: { name: 'x' } } }),
    ).rejects.toMatchObject({ status: 400 });
    await expect(create({ tools: [{ type: 'retrieval' }] })).rejects.toMatchObject({
      status: 400,
      param: 'tools.0.type',
    });
    await expect(create({ tools: [tool('a'), tool('a')] })).rejects.toMatchObject({ status: 400 });
    await expect(create({ tools: undefined, tool_choice: 'required' })).rejects.toMatchObject({
      status: 400,
    });
  });
});

test('Anthropic’s messages: tool_use, streamed too', async () => {
  const client = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
  const tools = [
    { name: 'weather', description: 'x', input_schema: parameters as Anthropic.Tool['input_schema'] },
  ];
  const ask = {
    model: 'demo',
    messages,
    tools,
    tool_choice: { type: 'tool' as const, name: 'weather' },
    temperature: 0,
    max_tokens: 200,
  };
  const message = await client.messages.create(ask);
  expect(message.stop_reason).toBe('tool_use');
  const [block] = message.content;
  if (block?.type !== 'tool_use') throw new Error('not a call');
  needArguments(JSON.stringify(block.input));
  const streamed = await client.messages.stream(ask).finalMessage();
  expect(streamed.content).toMatchObject([{ type: 'tool_use', name: 'weather', input: block.input }]);
  const result = { type: 'tool_result' as const, tool_use_id: block.id, content: 'rain' };
  const next = await client.messages.create({
    ...ask,
    tool_choice: { type: 'none' },
    max_tokens: 4,
    messages: [
      ...messages,
      { role: 'assistant', content: message.content },
      { role: 'user', content: [result] },
    ],
  });
  expect(next.usage.output_tokens).toBe(4);
});

test('OpenAI’s responses: function_call', async () => {
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: true }];
  const ask = {
    model: 'demo',
    input: 'The weather?',
    tools,
    tool_choice: 'required' as const,
    parallel_tool_calls: false,
    temperature: 0,
  };
  const { output } = await client.responses.create(ask);
  const [item] = output;
  if (item?.type !== 'function_call') throw new Error('not a call');
  needArguments(item.arguments, item.name);
  const done: string[] = [];
  for await (const event of await client.responses.create({ ...ask, stream: true }))
    if (event.type === 'response.function_call_arguments.done') done.push(event.arguments);
  expect(done).toEqual([item.arguments]);
});
