// OpenAI's responses as Codex sends them: tools of all types, items of histories, events, errors.
import { loadModel, type Model } from '@quern/runtime';
import OpenAI from 'openai';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import type { RunningServer } from '../src/index.js';
import { firstRound, history, secondRound } from './requests/codex.js';
import { json, post, serving } from './serving.js';

/** Thoughts, a text, a call of a function, one of a custom tool, one of a tool in a namespace. */
const script = [
  ...['<think>', 'Let', ' me', ' look', '</think>', 'I', ' list'],
  ...['<tool_call>', '{"name": "shell", "arguments": {"command": ["ls"]}}', '</tool_call>'],
];
const patch = [
  ...[
    '<tool_call>',
    '{"name": "apply_patch", ',
    '"arguments": {',
    '"input": "',
    '*** Begin',
    ' Patch',
    '"}}',
  ],
  '</tool_call>',
];
const listing = [
  '<tool_call>',
  '{"name": "mcp__files__list", "arguments": ',
  '{"command": []}}',
  '</tool_call>',
];
const controls = ['<tool_call>', '</tool_call>', '<think>', '</think>'];
const chatTemplate = `{# <tool_call> <think> #}
{%- if enable_thinking is defined and not enable_thinking %}quiet {% endif %}
{%- for m in messages %}{{ m.role }}: {{ m.content }}
{%- if m.reasoning_content %} ({{ m.reasoning_content }}){% endif %}
{%- for c in m.tool_calls or [] %} [{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}
{{- '\\n' }}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}¶`;

interface Served {
  readonly model: Model;
  readonly server: RunningServer;
  /** Prompts of the requests. */
  readonly prompts: Promise<string>[];
}

async function begin(pieces: readonly string[], context = 6000): Promise<Served> {
  const path = await writeScriptedModel(pieces, { controls, context });
  const options = { backend: 'cpu', sequences: 2, chatTemplate } as const;
  const model = await loadModel(path, { ...options, context, onNotice: () => {} });
  const prompts: Promise<string>[] = [];
  const chat = model.chat.bind(model);
  model.chat = ((...[messages, options]: Parameters<Model['chat']>) => {
    const { extra, tools } = options ?? {};
    const prompt = model.chatTokens(messages, { extra, tools }).then((ids) => model.detokenize(ids));
    prompt.catch(() => {}); // one that is too long has none
    prompts.push(prompt);
    return chat(messages, options);
  }) as Model['chat'];
  return { model, prompts, server: await serving(model) };
}

const all: Record<'calling' | 'patching' | 'listing' | 'brief', Served> = {} as never;
beforeAll(async () => {
  all.calling = await begin(script);
  all.patching = await begin(patch);
  all.listing = await begin(listing);
  all.brief = await begin(['Hello'], 256);
});
afterAll(async () => {
  for (const { model, server } of Object.values(all)) {
    await server.close();
    model.dispose();
  }
});

const client = ({ server }: Served) =>
  new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });

const ask = (body: object, { server }: Served = all.calling) =>
  post(`${server.url}/v1/responses`, { temperature: 0, ...body });

const lastPrompt = (): Promise<string> => all.calling.prompts.at(-1)!;

// biome-ignore lint/suspicious/noExplicitAny: checked by the tests' expectations
type Event = any;

async function eventsOf(response: Response): Promise<Event[]> {
  expect(response.status).toBe(200);
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
}

const types = (events: readonly Event[]): string[] =>
  events.map(({ type }) => type).filter((type, i, list) => type !== list[i - 1]);

describe('Codex', () => {
  test('the first round: a call, streamed; what is not honoured is in the header', async () => {
    const response = await ask(firstRound);
    expect(response.headers.get('x-quern-notice')).toBe(
      'tools that this server does not have: web_search, tool_search; ' +
        'grammars that are shown to the model and not enforced: those of apply_patch; ' +
        'ignored fields: tools.*.tools.*.defer_loading',
    );
    const events = await eventsOf(response);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i));
    expect(types(events)).toEqual([
      ...['response.created', 'response.in_progress', 'response.output_item.added'],
      ...['response.content_part.added', 'response.reasoning_text.delta', 'response.reasoning_text.done'],
      ...['response.content_part.done', 'response.output_item.done', 'response.output_item.added'],
      ...['response.content_part.added', 'response.output_text.delta', 'response.output_text.done'],
      ...['response.content_part.done', 'response.output_item.done', 'response.output_item.added'],
      ...['response.function_call_arguments.delta', 'response.function_call_arguments.done'],
      ...['response.output_item.done', 'response.completed'],
    ]);
    const { response: last } = events.at(-1);
    expect(last).toMatchObject({
      status: 'completed',
      store: false,
      reasoning: { effort: 'medium', summary: 'auto' },
      prompt_cache_key: firstRound.prompt_cache_key,
      service_tier: 'auto',
      text: { verbosity: 'low' },
      output: [
        { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Let me look' }] },
        { type: 'message', content: [{ type: 'output_text', text: 'I list' }] },
        { type: 'function_call', name: 'shell', arguments: '{"command": ["ls"]}' },
      ],
      usage: { output_tokens: 10, output_tokens_details: { reasoning_tokens: 4 } },
    });
    expect(last.tools).toHaveLength(firstRound.tools.length);
    const stored = await fetch(`${all.calling.server.url}/v1/responses/${last.id}`);
    expect(stored.status).toBe(404);
    await stored.text();
  });

  test('the second round: the items of one answer are one message', async () => {
    const response = await ask(secondRound);
    expect(response.headers.get('x-quern-notice')).toContain(
      'left out of the input: input_image, web_search_call, compaction',
    );
    await eventsOf(response);
    const [prompt] = (await lastPrompt()).split('\n[{');
    expect(prompt!.split('\n')).toEqual([
      'system: You are a coding agent.',
      'system: <permissions instructions>Work in the folder.</permissions instructions>',
      'system: <collaboration_mode>Default</collaboration_mode>',
      'user: <environment_context><cwd>/src</cwd></environment_context>Which files are there?',
      'assistant: I look. (I list them.) [shell {"command": ["ls"]}] [mcp__files__list {}]',
      'tool: a.ts',
      'b.ts',
      'tool: a.ts [image left out: this model reads text only]',
      String.raw`assistant:  [apply_patch {"input": "*** Begin Patch\n*** End Patch"}]`,
      'tool: Done.',
      'assistant:  [local_shell {"type": "exec", "command": ["pwd"]}]',
      'tool: /src',
    ]);
  });

  test.each([false, true])('a custom tool: its call has a text; stream: %s', async (stream) => {
    const response = await ask({ ...firstRound, stream }, all.patching);
    const call = { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch' };
    if (stream) {
      const events = await eventsOf(response);
      const delta = 'response.custom_tool_call_input.delta';
      expect(events.flatMap((each) => (each.type === delta ? each.delta : []))).toEqual([
        '*** Begin',
        ' Patch',
      ]);
      expect(types(events).slice(2)).toEqual([
        ...['response.output_item.added', delta],
        ...['response.custom_tool_call_input.done', 'response.output_item.done', 'response.completed'],
      ]);
      expect(events.find(({ type }) => type === 'response.output_item.done').item).toMatchObject(call);
      expect(events.at(-1).response.output).toMatchObject([call]);
    } else expect((await json(response)).output).toMatchObject([call]);
  });

  test('a tool in a namespace', async () => {
    const { output } = await json(await ask({ ...firstRound, stream: false }, all.listing));
    expect(output).toMatchObject([{ type: 'function_call', name: 'list', namespace: 'mcp__files' }]);
  });

  test('too long a conversation fails as an event with the code that makes Codex shorten it', async () => {
    const events = await eventsOf(await ask(firstRound, all.brief));
    expect(types(events)).toEqual(['response.created', 'response.in_progress', 'error', 'response.failed']);
    expect(events.at(-1).response).toMatchObject({
      status: 'failed',
      error: {
        code: 'context_length_exceeded',
        message: expect.stringContaining('too many for the context'),
      },
      output: [],
    });
    const whole = await ask({ ...firstRound, stream: false, truncation: 'auto' }, all.brief);
    expect([whole.status, (await json(whole)).error]).toMatchObject([
      400,
      { code: 'context_length_exceeded', param: 'input' },
    ]);
    const create = client(all.brief).responses.create({ ...(firstRound as object), stream: true });
    const read = async () => {
      for await (const _ of await create);
    };
    await expect(read()).rejects.toMatchObject({ code: 'context_length_exceeded', param: 'input' });
  });
});

describe('the client of OpenAI', () => {
  const weather = {
    type: 'function' as const,
    name: 'shell',
    strict: false,
    parameters: { type: 'object', properties: { command: { type: 'array' } } },
  };
  const question = { model: 'demo', input: 'Which files?', tools: [weather], temperature: 0 };

  test('create, stream, retrieve, input items, delete', async () => {
    const { responses } = client(all.calling);
    const whole = await responses.create(question);
    const stream = responses.stream(question);
    const final = await stream.finalResponse();
    expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call']);
    expect(final.output_text).toBe(whole.output_text);
    const { _request_id, ...shown } = whole;
    expect(await responses.retrieve(whole.id)).toMatchObject(shown);
    expect(await responses.retrieve(final.id)).toMatchObject({ status: 'completed', usage: final.usage });
    const { data } = await responses.inputItems.list(whole.id);
    expect(data).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Which files?' }] },
    ]);
    await responses.delete(whole.id);
    await expect(responses.retrieve(whole.id)).rejects.toMatchObject({
      status: 404,
      code: 'response_not_found',
    });
    await expect(responses.cancel(final.id)).rejects.toMatchObject({ status: 400, code: 'not_cancellable' });
  });

  test('previous_response_id: the conversation goes on, without the old instructions', async () => {
    const { responses } = client(all.calling);
    const first = await responses.create({ ...question, instructions: 'Be brief.' });
    const [call] = first.output.filter((item) => item.type === 'function_call');
    const output = { type: 'function_call_output' as const, call_id: call!.call_id, output: 'a.ts' };
    const second = await responses.create({ ...question, previous_response_id: first.id, input: [output] });
    expect(second.previous_response_id).toBe(first.id);
    expect((await lastPrompt()).split('\n').slice(0, 3)).toEqual([
      'user: Which files?',
      'assistant: I list (Let me look) [shell {"command": ["ls"]}]',
      'tool: a.ts',
    ]);
    const ids: string[] = [];
    for await (const { id } of responses.inputItems.list(second.id, { order: 'asc', limit: 2 }))
      ids.push(id!);
    expect(ids).toHaveLength(5);
    expect(ids.slice(1, 4)).toEqual(first.output.map(({ id }) => id));
  });

  test('item_reference', async () => {
    const { responses } = client(all.calling);
    const { output } = await responses.create(question);
    await responses.create({
      ...question,
      input: [
        { role: 'user', content: 'Again?' },
        ...output.map(({ id }) => ({ type: 'item_reference' as const, id: id! })),
        { type: 'function_call_output', call_id: (output[2] as { call_id: string }).call_id, output: 'b' },
      ],
    });
    expect(await lastPrompt()).toContain(
      'Again?\nassistant: I list (Let me look) [shell {"command": ["ls"]}]\ntool: b\n',
    );
    const unknown = { ...question, input: [{ type: 'item_reference' as const, id: 'msg_x' }] };
    await expect(responses.create(unknown)).rejects.toMatchObject({
      status: 404,
      param: 'input.0.id',
      code: 'item_not_found',
    });
  });

  test('inputTokens.count is what a request counts', async () => {
    const { responses } = client(all.calling);
    const { usage } = await responses.create({ ...question, instructions: 'Be brief.' });
    expect(
      await responses.inputTokens.count({ ...question, instructions: 'Be brief.', personality: 'friendly' }),
    ).toEqual({ object: 'response.input_tokens', input_tokens: usage!.input_tokens });
  });

  test('log-probabilities: those of the text', async () => {
    const { responses } = client(all.calling);
    const include = ['message.output_text.logprobs' as const];
    const withLogprobs = { ...question, include, top_logprobs: 2 };
    const { output } = await responses.create(withLogprobs);
    const [part] = (output[1] as OpenAI.Responses.ResponseOutputMessage).content;
    const { logprobs = [] } = part as OpenAI.Responses.ResponseOutputText;
    expect(logprobs.map(({ token, top_logprobs }) => [token, top_logprobs.length])).toEqual([
      ['I', 2],
      [' list', 2],
    ]);
    const streamed: string[] = [];
    for await (const event of await responses.create({ ...withLogprobs, stream: true }))
      if (event.type === 'response.output_text.delta')
        streamed.push(...event.logprobs.map(({ token }) => token));
    expect(streamed).toEqual(['I', ' list']);
    const plain = await responses.create({ ...question, top_logprobs: 2 });
    expect(plain.output[1]).toMatchObject({ content: [{ logprobs: [] }] });
  });
});

describe('reasoning.encrypted_content', () => {
  const include = ['reasoning.encrypted_content'];
  const user = { role: 'user', content: 'A' };
  const text = { role: 'assistant', content: 'B' };
  const back = (item: object) => ask({ input: [user, { type: 'reasoning', ...item }, text, user] });
  const form = (bytes: Uint8Array | string) => `quern1.${Buffer.from(bytes).toString('base64')}`;

  test('is there where it is asked for, whole and streamed, and comes back', async () => {
    const [item] = (await json(await ask({ input: 'Hi', store: false, include }))).output;
    expect(item).toMatchObject({ type: 'reasoning', encrypted_content: form('Let me look') });
    const events = await eventsOf(await ask({ input: 'Hi', store: false, include, stream: true }));
    const [added, done] = ['added', 'done'].map((type) =>
      events.find((each) => each.type === `response.output_item.${type}`),
    );
    expect(added.item).not.toHaveProperty('encrypted_content');
    expect(done.item).toMatchObject({ encrypted_content: item.encrypted_content });
    const { id, summary, encrypted_content } = item;
    expect((await back({ id, summary, encrypted_content })).status).toBe(200);
    expect(await lastPrompt()).toBe('user: A\nassistant: B (Let me look)\nuser: A\n¶');
    const [plain] = (await json(await ask({ input: 'Hi', store: false }))).output;
    expect(plain).not.toHaveProperty('encrypted_content');
  });

  test.each([
    ['of another server', 'gAAAAABo'],
    ['no base64', 'quern1.Let me look'],
    ['base64 with more behind it', `${form('Let me look')}!`],
    ['no text', form(Uint8Array.of(0xff, 0xfe))],
    ['longer than the server writes', form('a'.repeat((1 << 20) + 3))],
  ])('%s: 400', async (_, encrypted_content) => {
    const response = await back({ summary: [], encrypted_content });
    expect([response.status, (await json(response)).error.param]).toEqual([400, 'input.1.encrypted_content']);
  });

  test('what is beside the form of another server stands for it', async () => {
    const encrypted_content = 'gAAAAABo';
    const summary = [{ type: 'summary_text', text: 'Short.' }];
    const response = await back({ summary, encrypted_content });
    expect(response.headers.get('x-quern-notice')).toBe('left out of the input: encrypted_content');
    expect(await lastPrompt()).toContain('B (Short.)');
    const content = [{ type: 'reasoning_text', text: 'Whole.' }];
    const whole = await back({ content, summary, encrypted_content });
    expect(whole.headers.get('x-quern-notice')).toBeNull();
    expect(await lastPrompt()).toContain('B (Whole.)');
  });
});

test('effort none: no thoughts', async () => {
  await json(await ask({ input: 'Hi', reasoning: { effort: 'none' } }));
  expect(await lastPrompt()).toMatch(/^quiet user: Hi/);
  await json(await ask({ input: 'Hi', reasoning: { effort: 'low' } }));
  expect(await lastPrompt()).toMatch(/^user: Hi/);
});

test('a developer message later in the conversation stays where it is', async () => {
  const input = [
    { role: 'user', content: 'A' },
    { role: 'assistant', content: 'B' },
    { role: 'developer', content: 'C' },
    { role: 'user', content: 'D' },
  ];
  await json(await ask({ input }));
  expect(await lastPrompt()).toBe('user: A\nassistant: B\nsystem: C\nuser: D\n¶');
});

describe('tool_choice', () => {
  const tools = firstRound.tools;
  const refusal = async (body: object) => {
    const response = await ask({ input: 'Hi', ...body });
    return [response.status, (await json(response)).error];
  };

  test('required without a tool that can be called', async () => {
    const hosted = [{ type: 'web_search' }, { type: 'file_search', vector_store_ids: [] }];
    expect(await refusal({ tools: hosted, tool_choice: 'required' })).toMatchObject([
      400,
      { param: 'tool_choice', message: expect.stringContaining('web_search, file_search') },
    ]);
    const { output } = await json(await ask({ input: 'Hi', tools: hosted }));
    expect(output).toHaveLength(2);
  });

  test('a tool that runs at OpenAI', async () => {
    expect(await refusal({ tools, tool_choice: { type: 'web_search' } })).toMatchObject([
      400,
      { param: 'tool_choice', message: expect.stringContaining('web_search') },
    ]);
  });

  test.each<[object, string, string]>([
    [{ type: 'custom', name: 'apply_patch' }, 'custom_tool_call', 'apply_patch'],
    [{ type: 'function', name: 'list' }, 'function_call', 'list'],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'list' }] },
      'function_call',
      'list',
    ],
  ])('%j', async (tool_choice, type, name) => {
    const body = { input: 'Hi', tools, tool_choice, max_output_tokens: 300, parallel_tool_calls: false };
    const { output } = await json(await ask(body));
    const call = output.find((item: Event) => item.type === type);
    expect(call).toMatchObject({ name });
  });
});

describe('what would change the answer and is not honoured', () => {
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
  const user = (...content: object[]) => ({ role: 'user', content });
  const text = { type: 'input_text', text: 'What is it?' };

  test.each([
    [{ input: [user(text, image)] }, 'input.0.content'],
    [
      { input: [user(image), { role: 'assistant', content: 'A dog.' }, user(text, image)] },
      'input.2.content',
    ],
    [{ input: [user({ type: 'input_file', file_id: 'f' })] }, 'input.0.content'],
    [{ input: 'a', background: true }, 'background'],
    [{ input: 'a', conversation: 'conv_1' }, 'conversation'],
    [{ input: 'a', prompt: { id: 'p' } }, 'prompt'],
    [{ input: [] }, 'input'],
    [{}, 'input'],
  ])('%j: 400', async (body, param) => {
    const response = await ask(body);
    expect([response.status, (await json(response)).error.param]).toEqual([400, param]);
  });

  test('an image of an earlier message is a placeholder', async () => {
    await json(await ask({ input: [user(image), { role: 'assistant', content: 'A dog.' }, user(text)] }));
    expect(await lastPrompt()).toBe(
      'user: [image left out: this model reads text only]\nassistant: A dog.\nuser: What is it?\n¶',
    );
  });
});

test('fields within items, parts and tools are ignored and counted', async () => {
  const input = history.map((item) => ({ ...item, mood: 1 }));
  const part = { type: 'output_text', text: 'Hm', annotations: [], logprobs: [], shade: 1 };
  const tools = [{ ...firstRound.tools[0], allowed_callers: ['direct'] }];
  const response = await ask({ input: [...input, { role: 'assistant', content: [part] }], tools });
  expect(response.headers.get('x-quern-notice')).toContain(
    'ignored fields: input.*.mood, input.*.content.*.shade, tools.*.allowed_callers',
  );
  await response.text();
});

test('metadata, user and safety_identifier are shown again', async () => {
  const fields = {
    metadata: { a: 'b' },
    user: 'u',
    safety_identifier: 's',
    top_logprobs: 3,
    max_tool_calls: 2,
  };
  expect(await json(await ask({ input: 'Hi', ...fields }))).toMatchObject(fields);
});

test('chat completions count the tokens of thoughts too', async () => {
  const body = { messages: [{ role: 'user', content: 'Hi' }], temperature: 0 };
  const url = `${all.calling.server.url}/v1/chat/completions`;
  const { usage } = await json(await post(url, body));
  expect(usage.completion_tokens_details).toEqual({ reasoning_tokens: 4 });
  const stream = await post(url, { ...body, stream: true, stream_options: { include_usage: true } });
  expect(await stream.text()).toContain('"completion_tokens_details":{"reasoning_tokens":4}');
});
