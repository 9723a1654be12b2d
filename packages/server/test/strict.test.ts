// `strict` of tools in the three forms: the arguments of calls fit, whatever the model would rather write.
import Anthropic from '@anthropic-ai/sdk';
import { loadModel } from '@quern/runtime';
import OpenAI from 'openai';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { json, post, served } from './serving.js';

const pieces = ['<tool_call>', '{"name": "weather"', ', "arguments": ', '{}', '} ', '</tool_call>'];

const server = served(async () => {
  const path = await writeScriptedModel(pieces, { controls: ['</tool_call>', '<tool_call>'] });
  return loadModel(path, { backend: 'cpu', sequences: 2 });
});

const parameters = {
  type: 'object' as const,
  properties: { city: { enum: ['Rome', 'Oslo'] } },
  required: ['city'],
  additionalProperties: false,
};
const messages = [{ role: 'user' as const, content: 'The weather?' }];
const openai = () => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
const name = 'weather';

const ways: Record<string, (strict: boolean | null) => Promise<unknown>> = {
  'chat completions': async (strict) => {
    const tools = [{ type: 'function' as const, function: { name, parameters, strict } }];
    const { choices } = await openai().chat.completions.create({
      model: 'demo',
      messages,
      tools,
      temperature: 0,
    });
    const [call] = choices[0]!.message.tool_calls!;
    return JSON.parse((call as OpenAI.ChatCompletionMessageFunctionToolCall).function.arguments);
  },
  responses: async (strict) => {
    const tools = [{ type: 'function' as const, name, parameters, strict }];
    const { output } = await openai().responses.create({
      model: 'demo',
      input: 'The weather?',
      tools,
      temperature: 0,
    });
    const call = output.find(
      ({ type }) => type === 'function_call',
    ) as OpenAI.Responses.ResponseFunctionToolCall;
    return JSON.parse(call.arguments);
  },
  messages: async (strict) => {
    const client = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
    const tools = [{ name, input_schema: parameters, ...(strict !== null && { strict }) }];
    const ask = { model: 'demo', messages, tools, max_tokens: 100 };
    const { content } = await client.messages.create(ask);
    return content.find((block) => block.type === 'tool_use')!.input;
  },
};

test.each(Object.entries(ways))('%s', async (_, ask) => {
  expect(await ask(null)).toEqual({});
  expect(await ask(false)).toEqual({});
  expect(await ask(true)).toEqual({ city: expect.stringMatching(/^(Rome|Oslo)$/) });
});

test('arguments that are cut are given as text', async () => {
  const tools = [{ name, input_schema: parameters, strict: true }];
  const body = { messages, tools, temperature: 0, max_tokens: 12 };
  const whole = await json(await post(`${server.url}/v1/messages`, body));
  expect(whole).toMatchObject({
    content: [{ type: 'tool_use', name, input: { INVALID_JSON: expect.stringContaining('"city"') } }],
    stop_reason: 'max_tokens',
  });
  const streamed = await (await post(`${server.url}/v1/messages`, { ...body, stream: true })).text();
  expect(streamed).toContain('"stop_reason":"max_tokens"');
  const text = [...streamed.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)].map(([, part]) =>
    JSON.parse(part!),
  );
  expect(text.join('')).toBe(whole.content[0].input.INVALID_JSON);
});

test('a schema that cannot be enforced is an error, where it is strict', async () => {
  const odd = { ...parameters, properties: { city: { type: 'array', uniqueItems: true } } };
  const create = (strict: boolean) =>
    openai().chat.completions.create({
      model: 'demo',
      messages,
      temperature: 0,
      tools: [{ type: 'function', function: { name, parameters: odd, strict } }],
    });
  await expect(create(true)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('uniqueItems'),
  });
  expect((await create(false)).choices).toHaveLength(1);
});

describe('formats that cannot be enforced', () => {
  const schema = { type: 'string', format: 'json-string', maxLength: 2 };
  const ask = (strict: boolean, more: object = {}) =>
    post(`${server.url}/v1/chat/completions`, {
      messages,
      max_tokens: 4,
      response_format: { type: 'json_schema', json_schema: { name: 'text', schema, strict } },
      ...more,
    });

  test.each([true, false])(
    'are ignored with a header (stream: %s), and refused under strict',
    async (stream) => {
      const response = await ask(false, { stream });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-quern-notice')).toContain('the format "json-string"');
      await response.text();
      const refused = await ask(true, { stream });
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain('json-string');
    },
  );

  test('key_order is a field of the request', async () => {
    const any = await ask(false, { key_order: 'any' });
    expect(any.status).toBe(200);
    await any.text();
    const bad = await ask(false, { key_order: 'none' });
    expect(bad.status).toBe(400);
    await bad.text();
  });
});
