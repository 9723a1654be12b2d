// Anthropic's client, and OpenAI's responses.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { json, loadDemo, post, served, serving } from './serving.js';

const server = served(() => loadDemo(), { apiKeys: ['secret'] });

describe('Anthropic’s messages', () => {
  const client = () => new Anthropic({ baseURL: server.url, apiKey: 'secret', maxRetries: 0 });
  const ask = {
    model: 'demo',
    max_tokens: 12,
    temperature: 0,
    messages: [
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'Tell me a story about a fox.' }] },
    ],
  };

  test('whole and streamed: the same text, usage, reasons', async () => {
    const message = await client().messages.create(ask);
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'demo',
      stop_reason: 'max_tokens',
    });
    expect(message.usage.output_tokens).toBe(12);
    const [block] = message.content;
    const stream = client().messages.stream(ask);
    let text = '';
    stream.on('text', (delta) => {
      text += delta;
    });
    const last = await stream.finalMessage();
    expect(last.content).toMatchObject([{ type: 'text', text }]);
    expect(block).toMatchObject({ type: 'text', text });
    expect(last.usage.output_tokens).toBe(12);
    expect(last.usage.input_tokens + last.usage.cache_read_input_tokens!).toBe(
      message.usage.input_tokens + message.usage.cache_read_input_tokens!,
    );
  });

  test('a switch for thoughts that the template lacks is a notice', async () => {
    const body = { ...ask, max_tokens: 1, thinking: { type: 'disabled' } };
    const response = await post(`${server.url}/v1/messages`, body, { 'x-api-key': 'secret' });
    expect([response.status, response.headers.get('x-quern-notice')]).toEqual([
      200,
      'the chat template of this model has no switch for thinking',
    ]);
  });

  test('the stop sequence that ended the answer, whole and streamed', async () => {
    const [block] = (await client().messages.create(ask)).content;
    const stop = (block as { text: string }).text.slice(4, 8);
    const stopping = { ...ask, stop_sequences: ['never seen', stop] };
    const ended = { stop_reason: 'stop_sequence', stop_sequence: stop };
    expect(await client().messages.create(stopping)).toMatchObject(ended);
    expect(await client().messages.stream(stopping).finalMessage()).toMatchObject(ended);
  });

  test('the number of tokens of a prompt', async () => {
    const { max_tokens: _, temperature: __, ...prompt } = ask;
    const { input_tokens } = await client().messages.countTokens(prompt);
    const { usage } = await client().messages.create(ask);
    expect(input_tokens).toBe(usage.input_tokens + usage.cache_read_input_tokens!);
  });

  test('a prefill is continued, whole and streamed', async () => {
    const begun = {
      ...ask,
      messages: [...ask.messages, { role: 'assistant' as const, content: 'Once upon' }],
    };
    const { content, usage } = await client().messages.create(begun);
    expect(content).toEqual([expect.objectContaining({ text: expect.stringMatching(/^ a time/) })]);
    expect((await client().messages.stream(begun).finalMessage()).content).toEqual(content);
    const { max_tokens: _, temperature: __, ...prompt } = begun;
    const { input_tokens } = await client().messages.countTokens(prompt);
    expect(input_tokens).toBe(usage.input_tokens + usage.cache_read_input_tokens!);
  });

  test.each([
    [
      'a structure',
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      'output_config.format',
    ],
    ['an empty text', { messages: [...ask.messages, { role: 'assistant', content: '' }] }, 'not empty'],
    [
      'a call',
      {
        messages: [
          ...ask.messages,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
        ],
      },
      'text alone',
    ],
    ['nothing before it', { messages: [{ role: 'assistant', content: 'Once' }] }, 'put a question before it'],
  ])('a prefill with %s is refused by name', async (_, more, says) => {
    const begun = { ...ask, messages: [...ask.messages, { role: 'assistant', content: 'Once' }] };
    const response = await post(
      `${server.url}/v1/messages`,
      { ...begun, ...more },
      { 'x-api-key': 'secret' },
    );
    const { error } = await json(response);
    expect([response.status, error]).toEqual([
      400,
      { type: 'invalid_request_error', message: expect.stringContaining(says) },
    ]);
  });

  test('errors have Anthropic’s shape', async () => {
    await expect(client().messages.create({ ...ask, model: 'none' })).rejects.toMatchObject({
      status: 404,
      error: {
        type: 'error',
        error: { type: 'not_found_error', message: expect.stringContaining('"none"') },
      },
    });
    const image = { type: 'image' as const, source: { type: 'url' as const, url: 'https://x' } };
    await expect(
      client().messages.create({ ...ask, messages: [{ role: 'user', content: [image] }] }),
    ).rejects.toMatchObject({
      status: 400,
      error: { error: { type: 'invalid_request_error' } },
    });
  });
});

describe('OpenAI’s responses', () => {
  const client = () => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'secret', maxRetries: 0 });
  const ask = { model: 'demo', input: 'Tell me a story about a fox.', temperature: 0, max_output_tokens: 12 };

  test('whole and streamed: the same text', async () => {
    const response = await client().responses.create(ask);
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 12 },
    });
    expect(response.output).toMatchObject([{ type: 'message', status: 'incomplete' }]);
    const types: string[] = [];
    let text = '';
    for await (const event of await client().responses.create({ ...ask, stream: true })) {
      expect(event.sequence_number).toBe(types.length);
      types.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (event.type === 'response.output_item.done')
        expect(event.item).toMatchObject({ status: 'incomplete' });
      if (event.type === 'response.incomplete')
        expect(event.response.output).toMatchObject([{ status: 'incomplete' }]);
    }
    expect(text).toBe(response.output_text);
    expect(types.filter((type) => !type.endsWith('delta'))).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.incomplete',
    ]);
  });

  test('an error in mid-stream is an event with a number', async () => {
    const own = await loadDemo(1, { context: 512 });
    const brief = await serving(own);
    const body = { input: 'Tell me a story.', temperature: 0, stream: true, max_output_tokens: 400 };
    const response = await post(`${brief.url}/v1/responses`, body);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      text += read.value;
      if (text.includes('.delta')) own.dispose();
    }
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i));
    const [error, failed] = events.slice(-2);
    const { message } = error;
    const { code, param, type } = error.error;
    expect(error).toEqual({
      type: 'error',
      sequence_number: events.length - 2,
      ...{ code, message, param: null, error: { code, message, param, type } },
    });
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: {
        id: events[0].response.id,
        status: 'failed',
        error: { code: 'server_error', message },
        output: [{ type: 'message', status: 'incomplete' }],
      },
    });
    await brief.close();
  });

  test('a conversation, a schema', async () => {
    const schema = {
      type: 'object',
      properties: { n: { enum: [1, 2] } },
      required: ['n'],
      additionalProperties: false,
    };
    const { output, output_text } = await client().responses.create({
      ...ask,
      max_output_tokens: 40,
      input: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: [{ type: 'input_text', text: 'A number?' }] },
      ],
      text: { format: { type: 'json_schema', name: 'n', schema } },
    });
    expect(JSON.parse(output_text)).toEqual({ n: expect.any(Number) });
    expect(output).toMatchObject([{ type: 'message', status: 'completed' }]);
  });

  test('instructions that the template would not show are refused', async () => {
    await expect(client().responses.create({ ...ask, instructions: 'Be brief.' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('ignores system messages'),
    });
  });

  test('an unknown effort is refused', async () => {
    const reasoning = { effort: 'much' as 'low' };
    await expect(client().responses.create({ ...ask, reasoning })).rejects.toMatchObject({
      status: 400,
      param: 'reasoning.effort',
    });
  });
});
