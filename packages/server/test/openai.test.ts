// OpenAI's own client against a server on loopback.
import type { Model } from '@quern/runtime';
import OpenAI from 'openai';
import type { RunningServer } from '../src/index.js';
import { json, loadDemo, post, serving } from './serving.js';

let model: Model;
let server: RunningServer;
let client: OpenAI;
beforeAll(async () => {
  model = await loadDemo();
  server = await serving(model, { apiKeys: ['secret', 'other'] });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'secret', maxRetries: 0 });
});
afterAll(async () => {
  await server.close();
  model.dispose();
});

const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }] as const;
const ask = { model: 'demo', messages: [...messages], temperature: 0, max_tokens: 12 };

test('models', async () => {
  const { data } = await client.models.list();
  expect(data.map(({ id }) => id)).toEqual(['demo']);
  expect((await client.models.retrieve('demo')).id).toBe('demo');
  await expect(client.models.retrieve('none')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
});

test('a chat, whole and streamed: the same text, and usage', async () => {
  const { choices, usage } = await client.chat.completions.create(ask);
  const expected = await model.chat([...messages], {
    temperature: 0,
    topK: 0,
    topP: 1,
    minP: 0,
    maxTokens: 12,
  }).result;
  expect(choices).toMatchObject([
    { index: 0, message: { role: 'assistant', content: expected.text }, finish_reason: 'length' },
  ]);
  expect(usage).toMatchObject({
    prompt_tokens: expected.promptTokens,
    completion_tokens: 12,
    total_tokens: expected.promptTokens + 12,
  });
  expect(usage!.prompt_tokens_details!.cached_tokens).toBe(0);
  let text = '';
  let last: unknown;
  const stream = await client.chat.completions.create({
    ...ask,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    if (chunk.usage) last = chunk.usage;
  }
  expect(text).toBe(choices[0]!.message.content);
  expect(last).toMatchObject({
    completion_tokens: 12,
    prompt_tokens_details: { cached_tokens: expect.any(Number) },
  });
});

test('several answers: each with its own seed, streamed under its index', async () => {
  const several = { ...ask, temperature: 1, seed: 5, n: 3 };
  const { choices, usage } = await client.chat.completions.create(several);
  expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3);
  expect(usage!.completion_tokens).toBe(36);
  const texts = ['', '', ''];
  for await (const {
    choices: [choice],
  } of await client.chat.completions.create({ ...several, stream: true }))
    texts[choice!.index] += choice!.delta.content ?? '';
  expect(texts).toEqual(choices.map(({ message }) => message.content));
});

test('stop, logit_bias, logprobs', async () => {
  const { choices } = await client.chat.completions.create({
    ...ask,
    max_tokens: 6,
    logprobs: true,
    top_logprobs: 2,
  });
  const { content } = choices[0]!.logprobs!;
  expect(content!.map(({ token }) => token).join('')).toBe(choices[0]!.message.content);
  expect(content!.every(({ top_logprobs, logprob }) => top_logprobs.length === 2 && logprob <= 0)).toBe(true);
  const first = model.tokenize(content![0]!.token, { addBos: false })[0]!;
  const banned = await client.chat.completions.create({ ...ask, logit_bias: { [first]: -100 } });
  expect(banned.choices[0]!.message.content!.startsWith(content![0]!.token)).toBe(false);
  const stop = content![2]!.token;
  const stopped = await client.chat.completions.create({ ...ask, stop });
  expect(stopped.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { content: expect.not.stringContaining(stop) },
  });
});

test('structured output: json_schema and json_object', async () => {
  const schema = {
    type: 'object',
    properties: { ok: { type: 'boolean' } },
    required: ['ok'],
    additionalProperties: false,
  };
  const response_format = {
    type: 'json_schema',
    json_schema: { name: 'answer', strict: true, schema },
  } as const;
  const { choices } = await client.chat.completions.create({ ...ask, max_tokens: 60, response_format });
  expect(JSON.parse(choices[0]!.message.content!)).toEqual({ ok: expect.any(Boolean) });
  const bad = {
    type: 'json_schema',
    json_schema: { name: 'x', schema: { type: 'array', uniqueItems: true } },
  } as const;
  await expect(client.chat.completions.create({ ...ask, response_format: bad })).rejects.toMatchObject({
    status: 400,
    param: 'response_format',
    message: expect.stringContaining('uniqueItems'),
  });
});

test.each(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', null] as const)(
  'reasoning_effort %s is accepted',
  async (reasoning_effort) => {
    const { choices } = await client.chat.completions.create({ ...ask, reasoning_effort });
    expect(choices).toHaveLength(1);
  },
);

describe('continue_final_message', () => {
  const completed = async (fields: object) => {
    const headers = { authorization: 'Bearer secret' };
    return post(
      `${server.url}/v1/chat/completions`,
      { ...ask, continue_final_message: true, ...fields },
      headers,
    );
  };

  test('the answer goes on where the last message ends', async () => {
    const whole = (await client.chat.completions.create(ask)).choices[0]!.message.content!;
    const begin = whole.slice(0, whole.indexOf(' ', 8));
    for (const content of [begin, [{ type: 'text', text: begin }]]) {
      const given = [...messages, { role: 'assistant', content }];
      const { choices } = await json(await completed({ messages: given, max_tokens: 4 }));
      expect(choices[0].message.content).toMatch(/^ /);
      expect(whole.startsWith(begin + choices[0].message.content)).toBe(true);
    }
  });

  const last = { role: 'assistant', content: 'Once' };
  const tools = [{ type: 'function', function: { name: 'a', parameters: { type: 'object' } } }];
  test.each([
    [{}, 'continue_final_message', /needs a last message of the assistant/],
    [{ messages: [...messages, { ...last, content: '' }] }, 'continue_final_message', /with a text/],
    [{ messages: [last] }, 'messages', /needs a message before/],
    [{ messages: [...messages, last], tools }, 'continue_final_message', /neither tools/],
    [
      { messages: [...messages, last], response_format: { type: 'json_object' } },
      'continue_final_message',
      /neither tools nor a response_format/,
    ],
    [{ messages: [...messages, last], add_generation_prompt: true }, 'continue_final_message', /exclude/],
    [{ continue_final_message: false, add_generation_prompt: false }, 'add_generation_prompt', /needs/],
  ] as const)('refuses %j', async (fields, param, message) => {
    const response = await completed(fields);
    expect([response.status, (await json(response)).error]).toMatchObject([
      400,
      { param, message: expect.stringMatching(message) },
    ]);
  });
});

test('completions: texts, token ids, several prompts, echo', async () => {
  const options = { model: 'demo', temperature: 0, max_tokens: 5 };
  const { choices, usage } = await client.completions.create({
    ...options,
    prompt: ['Once', 'The'],
    echo: true,
  });
  expect(choices.map(({ text }) => text.slice(0, 3))).toEqual(['Onc', 'The']);
  expect(usage!.completion_tokens).toBe(10);
  const ids = model.tokenize('Once');
  const byIds = await client.completions.create({ ...options, prompt: ids, logprobs: 1 });
  expect(`Once${byIds.choices[0]!.text}`).toBe(choices[0]!.text);
  expect(byIds.choices[0]!.logprobs!.tokens).toHaveLength(5);
  let text = '';
  for await (const chunk of await client.completions.create({ ...options, prompt: 'Once', stream: true }))
    text += chunk.choices[0]!.text;
  expect(text).toBe(byIds.choices[0]!.text);
});

describe('errors have OpenAI’s shape', () => {
  test('a wrong key, a missing key', async () => {
    const wrong = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'secre', maxRetries: 0 });
    await expect(wrong.models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
    const none = await fetch(`${server.url}/v1/models`);
    expect([none.status, (await json(none)).error.code]).toEqual([401, 'missing_api_key']);
  });

  test.each([
    ['an unknown model', { model: 'gpt-9' }, 404, 'model', 'model_not_found'],
    [
      'a parameter that is not supported',
      { audio: { voice: 'x', format: 'mp3' } },
      400,
      'audio',
      'invalid_value',
    ],
    ['an unknown effort', { reasoning_effort: 'much' }, 400, 'reasoning_effort', 'invalid_value'],
    ['a wrong type', { temperature: 'hot' }, 400, 'temperature', 'invalid_value'],
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      400,
      'messages.0.content',
      'invalid_value',
    ],
  ])('%s', async (_, field, status, param, code) => {
    await expect(client.chat.completions.create({ ...ask, ...(field as object) })).rejects.toMatchObject({
      status,
      param,
      code,
    });
  });

  test('more tokens than the context: the answer ends with it', async () => {
    const { choices, usage } = await client.completions.create({
      model: 'demo',
      prompt: 'Once',
      max_tokens: 32_000,
      temperature: 0,
      ...{ ignore_eos: true },
    });
    expect([choices[0]!.finish_reason, usage!.total_tokens]).toEqual(['length', 256]);
  });

  test.each(['%zz', 'none', 'a%2Fb'])('the unknown model %s', async (name) => {
    const headers = { authorization: 'Bearer secret' };
    const response = await fetch(`${server.url}/v1/models/${name}`, { headers });
    expect([response.status, (await json(response)).error.code]).toEqual([404, 'model_not_found']);
  });

  test.each([false, true])('echo with logprobs, stream: %p', async (stream) => {
    const both = { model: 'demo', prompt: 'Once', echo: true, logprobs: 0, stream };
    await expect(client.completions.create(both)).rejects.toMatchObject({
      status: 400,
      param: 'logprobs',
      message: expect.stringContaining('not supported'),
    });
  });

  test('a prompt longer than the context: both numbers', async () => {
    const long = [{ role: 'user', content: 'word '.repeat(2000) }] as const;
    await expect(client.chat.completions.create({ ...ask, messages: [...long] })).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringMatching(/\d+ tokens, too many for the context of 256/),
    });
  });
});
