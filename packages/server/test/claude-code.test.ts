// Claude Code's requests, against models that call a tool or write a title whatever they are asked.
import Anthropic from '@anthropic-ai/sdk';
import { loadModel, type Model } from '@quern/runtime';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { type RunningServer, serve } from '../src/index.js';
import { first, headers, quota, second, title, webSearch } from './requests/claude-code.js';
import { json, post } from './serving.js';

/** Tools, messages, a switch for thoughts. */
const chatTemplate = `
{%- for tool in tools or [] %}<tools>{{ tool | tojson }}</tools>{% endfor %}
{%- for m in messages %}<{{ m.role }}>{{ m.content or '' }}
{%- for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}
{%- endfor %}{# <think> #}
{%- if enable_thinking is defined and not enable_thinking %}<off>{% endif %}¶`;

const controls = ['<think>', '</think>', '<tool_call>', '</tool_call>'];
const call = ['<tool_call>', '{"name": "Bash"', ', "arguments": ', '{"command": "ls"}', '} ', '</tool_call>'];

const load = async (pieces: readonly string[], context = 8192) => {
  const path = await writeScriptedModel(pieces, { controls, context });
  return loadModel(path, { backend: 'cpu', context, chatTemplate });
};

const log: Readonly<Record<string, unknown>>[] = [];
let models: Record<'caller' | 'titles' | 'small', Model>;
let server: RunningServer;
beforeAll(async () => {
  models = {
    caller: await load(['<think>', 'Look first.', '</think>', 'I look.', ...call]),
    titles: await load(['{"title"', ': ', '"Files here"', '}']),
    small: await load(
      Array.from({ length: 60 }, (_, i) => `w${i} `),
      48,
    ),
  };
  const aliases = { 'claude-haiku-4-5-20251001': 'titles' };
  server = await serve({
    models,
    aliases,
    anyModel: true,
    apiKeys: ['secret'],
    port: 0,
    log: (entry) => log.push(entry),
  });
});
afterAll(async () => {
  await server.close();
  for (const model of Object.values(models)) model.dispose();
});

const client = () => new Anthropic({ baseURL: server.url, authToken: 'secret', apiKey: null, maxRetries: 0 });
const ask = (body: object, path = '/v1/messages?beta=true') => post(`${server.url}${path}`, body, headers);

type StreamParams = Parameters<Anthropic['beta']['messages']['stream']>[0];

/** The message that the events of a stream make, by Anthropic's client. */
const streamed = (body: object) =>
  client()
    .beta.messages.stream(body as StreamParams)
    .finalMessage();

const called = [
  { type: 'thinking', thinking: 'Look first.', signature: 'quern' },
  { type: 'text', text: 'I look.', citations: null },
  {
    type: 'tool_use',
    id: expect.any(String),
    name: 'Bash',
    input: { command: 'ls' },
    caller: { type: 'direct' },
  },
];

describe('a session', () => {
  test('the first request, whole and streamed', async () => {
    const response = await ask(first());
    expect(response.status).toBe(200);
    const whole = await json(response);
    expect(whole).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-6',
      content: called,
      stop_reason: 'tool_use',
      stop_sequence: null,
      context_management: { applied_edits: [] },
    });
    const { content, stop_reason, usage } = await streamed(first());
    expect({ content, stop_reason }).toMatchObject({ content: called, stop_reason: 'tool_use' });
    expect(usage.output_tokens).toBe(whole.usage.output_tokens);
    for (const { output_tokens_details } of [whole.usage, usage])
      expect(output_tokens_details).toEqual({ thinking_tokens: 2 });
  });

  test('the second round finds its prefix, though the billing line has changed', async () => {
    const { content, usage } = await json(await ask(first('11111')));
    const before = usage.input_tokens + usage.cache_read_input_tokens;
    const response = await ask(second(content, '22222'));
    expect(response.headers.get('x-quern-notice')).toBe('the billing line of the system prompt is left out');
    const next = await json(response);
    const block = 16;
    expect(next.usage.cache_read_input_tokens).toBeGreaterThanOrEqual(before - 1 - block);
    expect(next.content).toMatchObject(called);
    expect((await streamed(second(content, '33333'))).content).toMatchObject(called);
  });

  test('the text of a later system message is in the prompt', async () => {
    const { content } = await json(await ask(first()));
    const { messages, ...more } = second(content);
    const count = async (some: readonly object[]) =>
      (await json(await ask({ ...more, messages: some }, '/v1/messages/count_tokens?beta=true')))
        .input_tokens;
    const text = '<user><system-reminder>\nThe file a.ts has changed.\n</system-reminder>';
    expect((await count(messages)) - (await count(messages.slice(0, -1)))).toBe(text.length);
  });

  test('tokens are counted as they are used', async () => {
    const body: object = first();
    const counted = await client().beta.messages.countTokens(body as Anthropic.Beta.MessageCountTokensParams);
    const { usage } = await json(await ask(first()));
    expect(counted.input_tokens).toBe(usage.input_tokens + usage.cache_read_input_tokens);
  });

  test('message_start has the prompt’s tokens; then the events of each block', async () => {
    const begin = await json(await ask(first()));
    const text = await (await ask({ ...first(), stream: true })).text();
    const events = text.split('\n\n').flatMap((each) => /^data: (.*)$/m.exec(each)?.[1] ?? []);
    const [start, ...others] = events.map((each) => JSON.parse(each));
    const { usage } = start.message;
    expect(start.type).toBe('message_start');
    expect(usage.input_tokens + usage.cache_read_input_tokens).toBe(
      begin.usage.input_tokens + begin.usage.cache_read_input_tokens,
    );
    expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
    expect(others.map(({ type, delta }) => delta?.type ?? type)).toEqual([
      'content_block_start',
      'thinking_delta',
      'signature_delta',
      'content_block_stop',
      'content_block_start',
      'text_delta',
      'content_block_stop',
      'content_block_start',
      ...others.filter(({ delta }) => delta?.type === 'input_json_delta').map(() => 'input_json_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test.each([
    ['disabled', 5],
    ['enabled', 0],
    ['adaptive', 0],
  ])('thinking: %s reaches the template', async (type, more) => {
    const { thinking: _, max_tokens: __, ...body } = first();
    const count = async (thinking?: object) =>
      (await json(await ask({ ...body, thinking }, '/v1/messages/count_tokens'))).input_tokens;
    expect((await count({ type, budget_tokens: 1024 })) - (await count())).toBe(more);
  });
});

describe('requests beside it', () => {
  test('a title that fits its schema, by an alias', async () => {
    const whole = await json(await ask(title()));
    expect(whole).toMatchObject({ model: 'claude-haiku-4-5-20251001', stop_reason: 'end_turn' });
    expect(JSON.parse(whole.content[0].text)).toEqual({ title: 'Files here' });
    expect((await streamed(title())).content).toMatchObject(whole.content);
  });

  test('whether the key works', async () => {
    const { usage, stop_reason } = await json(await ask(quota));
    expect([usage.output_tokens, stop_reason]).toEqual([1, 'max_tokens']);
  });

  test('the models in Anthropic’s form', async () => {
    const page = await client().models.list();
    expect(page.data.map(({ id }) => id)).toEqual(['caller', 'titles', 'small', 'claude-haiku-4-5-20251001']);
    expect(page.data[0]).toMatchObject({ type: 'model', display_name: 'caller', max_input_tokens: 8192 });
    expect(page).toMatchObject({ has_more: false, first_id: 'caller', last_id: 'claude-haiku-4-5-20251001' });
    const one = await client().models.retrieve('titles');
    expect([one.id, Number.isNaN(Date.parse(one.created_at))]).toEqual(['titles', false]);
    await expect(client().models.retrieve('none')).rejects.toMatchObject({
      status: 404,
      type: 'not_found_error',
    });
  });
});

describe('tools', () => {
  const [bash] = first().tools;
  const ignored = () => log.flatMap(({ ignoredFields = [] }) => ignoredFields);

  test('those of Anthropic’s servers are left out and named', async () => {
    const response = await ask({ ...first(), tools: [bash, webSearch] });
    expect(response.headers.get('x-quern-notice')).toContain('tools.*.type=web_search_20250305');
    const { usage } = await json(response);
    const alone = await json(await ask({ ...first(), tools: [bash] }));
    const all = (each: typeof usage) => each.input_tokens + each.cache_read_input_tokens;
    expect(all(usage)).toBe(all(alone.usage));
    expect(ignored()).toContain('tools.*.type=web_search_20250305');
  });

  test('under strict they are refused, and all else of the request is known', async () => {
    const strict = await serve({ models, anyModel: true, strict: true, port: 0 });
    const send = (tools: readonly object[]) =>
      post(`${strict.url}/v1/messages`, { ...first(), tools }, headers);
    expect((await send(first().tools)).status).toBe(200);
    const refused = await send([bash!, webSearch]);
    expect([refused.status, (await json(refused)).error.message]).toEqual([
      400,
      expect.stringContaining('tools.1.type: the model cannot call "web_search_20250305"'),
    ]);
    await strict.close();
  });

  test('one of them cannot be chosen', async () => {
    const tool_choice = { type: 'tool', name: 'web_search' };
    const response = await ask({ ...first(), tools: [bash, webSearch], tool_choice });
    expect([response.status, (await json(response)).error.message]).toEqual([
      400,
      expect.stringContaining("'web_search'"),
    ]);
  });

  test.each(['bash_20250124', 'text_editor_20250728', 'memory_20250818'])(
    '%s, which the client runs, has a schema',
    async (type) => {
      const count = async (tools: readonly object[]) =>
        (await json(await ask({ ...quota, tools }, '/v1/messages/count_tokens'))).input_tokens;
      const named = { type, name: 'its_name' };
      const bare = { name: 'its_name', description: '', input_schema: {} };
      expect(await count([named])).toBeGreaterThan((await count([bare])) + 50);
    },
  );
});

describe('what this model cannot read', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
  const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } };
  const text = { type: 'text', text: 'What is this?' };
  const body = (messages: readonly object[]) => ({ ...quota, messages });
  const user = (...content: readonly object[]) => ({ role: 'user', content });

  test.each([
    ['an image', image, 'no images'],
    ['a PDF', pdf, 'no PDFs'],
  ])('%s in the last question is refused', async (_, block, says) => {
    const response = await ask(body([user(text), { role: 'assistant', content: 'Yes?' }, user(text, block)]));
    expect([response.status, (await json(response)).error]).toEqual([
      400,
      { type: 'invalid_request_error', message: expect.stringMatching(`messages.2.content.1: .*${says}`) },
    ]);
  });

  test.each([
    ['in the history', [user(text, image), { role: 'assistant', content: 'A cat.' }, user(text)]],
    [
      'in a result of a tool',
      [
        user(text),
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'Read', input: {} }] },
        user({ type: 'tool_result', tool_use_id: 't1', content: [image, pdf] }),
      ],
    ],
  ])('%s a text stands for it', async (_, messages) => {
    const response = await ask(body(messages));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-quern-notice')).toContain('reads no images, sounds or files');
  });

  test('documents and search results as text are read', async () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'The cat is here.' };
    const document = { type: 'document', source, title: 'Cats', citations: { enabled: true } };
    const count = async (...content: readonly object[]) =>
      (await json(await ask(body([user(text, ...content)]), '/v1/messages/count_tokens'))).input_tokens;
    expect((await count(document)) - (await count())).toBe('\nCats\nThe cat is here.'.length);
  });

  test.each([
    ['mcp_servers', [{ type: 'url', url: 'https://x.org', name: 'x' }]],
    ['container', 'container_1'],
  ])('%s is refused by name', async (name, value) => {
    const response = await ask({ ...quota, [name]: value });
    expect([response.status, (await json(response)).error.message]).toEqual([
      400,
      expect.stringContaining(`${name} is not supported`),
    ]);
  });

  test('empty values are nothing', async () => {
    const empty = {
      mcp_servers: [],
      container: null,
      inference_geo: null,
      speed: 'standard',
      service_tier: 'auto',
    };
    const response = await ask({ ...quota, ...empty });
    expect([response.status, response.headers.get('x-quern-notice')]).toEqual([200, null]);
  });

  test('blocks of Anthropic’s servers in the history', async () => {
    const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'cats' } };
    const found = {
      type: 'web_search_tool_result',
      tool_use_id: 's1',
      content: [{ type: 'web_search_result', title: 'Cats', url: 'https://x.org', encrypted_content: 'A' }],
    };
    const content = [
      { type: 'redacted_thinking', data: 'A' },
      search,
      found,
      { type: 'text', text: 'Cats.' },
    ];
    const response = await ask(body([user(text), { role: 'assistant', content }, user(text)]));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-quern-notice')).toMatch(/redacted_thinking .*server_tool_use/);
  });

  test('a block that nobody knows is refused by its type', async () => {
    const response = await ask(body([user(text, { type: 'hologram' })]));
    expect([response.status, (await json(response)).error.message]).toEqual([
      400,
      expect.stringContaining('"hologram" is not supported'),
    ]);
  });
});

test('errors have the id of the request', async () => {
  const wrong = await ask({ ...quota, max_tokens: 0 });
  expect(await json(wrong)).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: expect.stringContaining('max_tokens') },
    request_id: expect.stringMatching(/^[\w-]{10,}$/),
  });
  const denied = await post(`${server.url}/v1/messages`, quota, { ...headers, authorization: 'Bearer no' });
  expect([denied.status, (await json(denied)).error.type]).toEqual([401, 'authentication_error']);
});

test('a prompt that is too long is one that Claude Code makes shorter', async () => {
  const messages = [{ role: 'user', content: 'a'.repeat(100) }];
  const response = await ask({ ...quota, model: 'small', messages });
  const { error } = await json(response);
  expect([response.status, error.type]).toEqual([400, 'invalid_request_error']);
  expect(error.message).toMatch(/^prompt is too long: .* context of 48/);
});

test.each([false, true])('a full context is its own reason (stream: %s)', async (stream) => {
  const body = { ...quota, model: 'small', max_tokens: 32_000 };
  const message = stream ? await streamed(body) : await json(await ask(body));
  const { usage, stop_reason } = message;
  expect(stop_reason).toBe('model_context_window_exceeded');
  expect(usage.input_tokens + usage.cache_read_input_tokens + usage.output_tokens).toBe(48);
});
