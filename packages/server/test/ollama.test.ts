// Ollama's API as editors and chat pages use it, field by field.
import { type ChatOptions, loadModel, type Model } from '@quern/runtime';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { type RunningServer, serve } from '../src/index.js';
import { ollamaChatRequest, ollamaMessages } from '../src/requests/ollama.js';
import { Gate, gated } from './gated.js';
import { json, loadDemo, post } from './serving.js';

/** Switched by enable_thinking, with levels. Ends where a scripted model begins. */
const template = `{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking %}<think>{{ reasoning_effort or '' }}</think>{% endif %}¶`;
const always = `{% for m in messages %}{{ m.content }}{% endfor %}{# </think> #}¶`;

let demo: Model;
/** The same without a chat template. */
let base: Model;
let thinker: Model;
let ever: Model;
let server: RunningServer;
/** Options of the last chat. */
let options: ChatOptions = {};

beforeAll(async () => {
  demo = await loadDemo(2, { chatTemplate: 'chatml' });
  base = Object.assign(Object.create(demo) as Model, { chatTemplate: undefined });
  watch(demo);
  const path = await writeScriptedModel(['<think>', 'plan', '</think>', 'done'], {
    controls: ['<think>', '</think>'],
  });
  const load = (chatTemplate: string) => loadModel(path, { backend: 'cpu', sequences: 1, chatTemplate });
  thinker = await load(template);
  ever = await load(always);
  watch(thinker);
  const models = { demo, 'base:1b': base, thinker, ever };
  server = await serve({ models, port: 0 });
});
afterAll(async () => {
  await server.close();
  for (const model of [demo, thinker, ever]) model.dispose();
});

function watch(model: Model): void {
  const chat = model.chat.bind(model);
  model.chat = ((...args: Parameters<Model['chat']>) => {
    options = args[1] ?? {};
    return chat(...args);
  }) as Model['chat'];
}

const messages = [{ role: 'user', content: 'Tell me a story.' }];
const few = { temperature: 0, num_predict: 6 };
const send = (path: string, body: object, url = server.url) => post(`${url}${path}`, body);
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each));
const answerOf = async (path: string, body: object) => json(await send(path, { stream: false, ...body }));
const refused = async (path: string, body: object) => {
  const response = await send(path, body);
  const { error, ...others } = await json(response);
  expect(others).toEqual({});
  return `${response.status} ${error}`;
};

test('Open WebUI: models, version, a chat in lines', async () => {
  const { models } = await json(await fetch(`${server.url}/api/tags`));
  expect(models.map(({ name }: { name: string }) => name)).toEqual([
    'demo:latest',
    'base:1b',
    'thinker:latest',
    'ever:latest',
  ]);
  expect(await json(await fetch(`${server.url}/api/version`))).toEqual({ version: expect.any(String) });
  const body = {
    model: models[0].name,
    messages,
    stream: true,
    options: {
      ...few,
      num_ctx: 8192,
      mirostat: 0,
      tfs_z: 1,
      num_gpu: 99,
      num_thread: 4,
      stop: null,
      seed: -1,
    },
    keep_alive: '5m',
    metadata: { chat: 1 },
  };
  const response = await send('/api/chat', body);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  expect(response.headers.get('x-quern-notice')).toBe(
    'num_ctx is ignored: the context has 256 tokens, chosen when the server starts; ignored fields: metadata',
  );
  const lines = linesOf(await response.text());
  expect(lines.every(({ model }) => model === 'demo:latest')).toBe(true);
  expect(lines.at(-1)).toMatchObject({ done: true, done_reason: 'length', eval_count: 6 });
});

test('Continue: what it reads of a model, a chat, a raw prompt', async () => {
  const shown = await json(await send('/api/show', { name: 'demo' }));
  expect(shown.parameters).toMatch(/^num_ctx +256$/m);
  expect(shown.template).toContain('<|im_start|>');
  const start = demo.tokenizer!.tokenText(demo.tokenizer!.bos!);
  const body = {
    model: 'demo',
    prompt: `${start}Once upon`,
    raw: true,
    options: few,
    keep_alive: 1800,
  };
  const lines = linesOf(await (await send('/api/generate', body)).text());
  const text = lines.map(({ response }) => response).join('');
  const rest = { temperature: 0, topK: 0, topP: 1, minP: 0, maxTokens: 6 };
  const own = await demo.generate('Once upon', rest).result;
  expect([text, lines.at(-1).prompt_eval_count]).toEqual([own.text, own.promptTokens]);
  expect(await refused('/api/generate', { ...body, suffix: 'end' })).toMatch(
    /^400 .*suffix is not supported/,
  );
});

test('GitHub Copilot: capabilities and the context, then chat completions by the listed name', async () => {
  const { models } = await json(await fetch(`${server.url}/api/tags`));
  for (const { model } of models) {
    const { model_info, capabilities } = await json(await send('/api/show', { model }));
    expect(capabilities[0]).toBe('completion');
    expect(model_info[`${model_info['general.architecture']}.context_length`]).toBeGreaterThan(0);
    expect(model_info['general.basename']).toBe(model);
  }
  const ask = { model: models[0].name, messages, temperature: 0, max_tokens: 6 };
  const { choices } = await json(await send('/v1/chat/completions', ask));
  const { message } = await answerOf('/api/chat', { model: 'demo', messages, options: few });
  expect(choices[0].message.content).toBe(message.content);
  const named = await json(await fetch(`${server.url}/v1/models/demo:latest`));
  expect(named.id).toBe('demo');
});

test('HEAD / says that the server is there', async () => {
  expect((await fetch(server.url, { method: 'HEAD' })).status).toBe(200);
});

describe('sampling', () => {
  const ask = (given?: object) => answerOf('/api/chat', { model: 'demo', messages, options: given });

  test('Ollama’s defaults', async () => {
    await ask({ num_predict: 1 });
    expect(options).toMatchObject({ temperature: 0.8, topK: 40, topP: 0.9, minP: 0, repetitionPenalty: 1 });
    expect(options).toMatchObject({ penaltyWindow: 64, presencePenalty: 0, frequencyPenalty: 0 });
    expect([options.seed, options.stop]).toEqual([undefined, []]);
  });

  test('what a request says', async () => {
    await ask({
      num_predict: 1,
      temperature: 3,
      top_k: 5,
      top_p: 0.5,
      min_p: 0.25,
      seed: 7,
      stop: ['a', ''],
      repeat_penalty: 1.5,
      repeat_last_n: -1,
      presence_penalty: 0.5,
      frequency_penalty: 0.25,
    });
    expect(options).toMatchObject({
      maxTokens: 1,
      temperature: 3,
      topK: 5,
      topP: 0.5,
      minP: 0.25,
      seed: 7,
      stop: ['a'],
      repetitionPenalty: 1.5,
      penaltyWindow: -1,
      presencePenalty: 0.5,
      frequencyPenalty: 0.25,
    });
    const once = { num_predict: 12, temperature: 1, seed: 7 };
    expect((await ask(once)).message.content).toBe((await ask(once)).message.content);
  });

  test('top_p: 0 leaves the likeliest token; -1 is no bound', async () => {
    const greedy = await ask({ ...few, top_k: 0 });
    expect((await ask({ num_predict: 6, top_p: 0, seed: 3 })).message.content).toBe(greedy.message.content);
    const long = await ask({ temperature: 0, num_predict: -1, stop: greedy.message.content.slice(-3) });
    expect(long.done_reason).toBe('stop');
  });

  test.each([
    ['mirostat', 2],
    ['tfs_z', 0.5],
    ['typical_p', 0.7],
    ['penalize_newline', false],
  ])('%s is refused', async (name, value) => {
    const body = { model: 'demo', messages, options: { [name]: value } };
    expect(await refused('/api/chat', body)).toMatch(
      new RegExp(`^400 options.${name}: ${name} is not supported`),
    );
  });
});

describe('thoughts', () => {
  const ask = (model: string, think?: unknown, more: object = {}) =>
    answerOf('/api/chat', { model, messages, think, options: few, ...more });

  test('think switches them; a level is told to the template', async () => {
    const answer = { message: { role: 'assistant', content: 'done', thinking: 'plan' }, done_reason: 'stop' };
    expect(await ask('thinker')).toMatchObject(answer);
    expect(options.thinking).toBe(true);
    await ask('thinker', false);
    expect(options.thinking).toBe(false);
    await ask('thinker', 'low');
    expect(options).toMatchObject({ thinking: true, extra: { reasoning_effort: 'low' } });
    expect(await ask('ever', true)).toMatchObject(answer);
    const lines = linesOf(await (await send('/api/chat', { model: 'thinker', messages })).text());
    expect(lines.map(({ message }) => message.thinking ?? '').join('')).toBe('plan');
    expect(lines.map(({ message }) => message.content).join('')).toBe('done');
    const { response, thinking } = await answerOf('/api/generate', { model: 'ever', prompt: 'Hi' });
    expect([response, thinking]).toEqual(['done', 'plan']);
    expect((await json(await send('/api/show', { model: 'ever' }))).capabilities).toEqual([
      'completion',
      'thinking',
    ]);
  });

  test('with a format: none, and none may be asked for', async () => {
    await ask('thinker', undefined, { format: 'json' });
    expect(options.thinking).toBe(false);
    expect(await ask('thinker', true, { format: 'json' })).toEqual({
      error: expect.stringContaining('think goes with no format'),
    });
  });

  test('what a model cannot do is refused; a level that its template does not read means true', async () => {
    expect(await ask('demo', true)).toEqual({ error: '"demo" does not support thinking' });
    expect((await ask('demo', false)).done).toBe(true);
    expect(await ask('ever', false)).toEqual({ error: expect.stringContaining('always thinks') });
    const response = await send('/api/chat', { model: 'ever', messages, think: 'high', stream: false });
    expect(response.headers.get('x-quern-notice')).toContain('think: "high" means true');
    await response.text();
  });
});

test('tools of a model whose template writes none are refused', async () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  expect(await refused('/api/chat', { model: 'ever', messages, tools })).toMatch(
    /^400 "ever" does not support tools/,
  );
});

test('log-probabilities, whole and streamed: those of chat completions', async () => {
  const body = {
    model: 'demo',
    messages,
    options: { ...few, top_k: 0, top_p: 1 },
    logprobs: true,
    top_logprobs: 2,
  };
  const { logprobs } = await answerOf('/api/chat', body);
  const ask = { model: 'demo', messages, temperature: 0, max_tokens: 6, logprobs: true, top_logprobs: 2 };
  const { choices } = await json(await send('/v1/chat/completions', ask));
  expect(logprobs).toEqual(choices[0].logprobs.content);
  const lines = linesOf(await (await send('/api/chat', body)).text());
  expect(lines.flatMap((each) => each.logprobs ?? [])).toEqual(logprobs);
});

test('a prompt without a template is continued; with a system message it needs one', async () => {
  const prompt = { model: 'base:1b', prompt: 'Once upon', options: few };
  const { text } = await demo.generate('Once upon', { temperature: 0, maxTokens: 6 }).result;
  expect((await answerOf('/api/generate', prompt)).response).toBe(text);
  const system = { model: 'demo', prompt: 'Hi', system: 'Be brief.', options: few };
  const chat = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ];
  const answer = await answerOf('/api/generate', system);
  const same = await answerOf('/api/chat', { model: 'demo', messages: chat, options: few });
  expect(answer.response).toBe(same.message.content);
  expect(answer.prompt_eval_count).toBe(same.prompt_eval_count);
});

test('a request without a prompt is for loading the model', async () => {
  expect(await answerOf('/api/chat', { model: 'demo', keep_alive: 0 })).toMatchObject({
    message: { role: 'assistant', content: '' },
    done: true,
    done_reason: 'load',
  });
  expect(linesOf(await (await send('/api/generate', { model: 'demo' })).text())).toMatchObject([
    { response: '', done: true, done_reason: 'load' },
  ]);
});

describe('while nothing is generated', () => {
  const slow = async (gate: Gate): Promise<RunningServer> => {
    const late = Object.assign(Object.create(demo) as Model, {
      chat: (...args: Parameters<Model['chat']>) => gated(() => demo.chat(...args), gate, 1),
    });
    return serve({ models: { demo: late }, port: 0, keepAliveMs: 10 });
  };

  test('spaces come, which every reader of JSON skips; an error is a line', async () => {
    for (const ending of ['open', 'fail'] as const) {
      const gate = new Gate();
      const other = await slow(gate);
      const response = await send('/api/chat', { model: 'demo', messages, options: few }, other.url);
      const decoder = new TextDecoder();
      let text = '';
      for await (const chunk of response.body!) {
        text += decoder.decode(chunk, { stream: true });
        if (text.endsWith('\n ')) gate[ending](new Error('broken'));
      }
      expect(text).toMatch(/\n +\{/);
      const last = linesOf(text).at(-1);
      expect(last).toMatchObject(ending === 'open' ? { done: true } : { error: 'internal error' });
      await other.close();
    }
  });
});

describe('wrong types', () => {
  const given: readonly (readonly [path: string, field: string, value: unknown, named?: string])[] = [
    ['/api/chat', 'model', 1],
    ['/api/chat', 'messages', 'Hi'],
    ['/api/chat', 'messages', [{ role: 'robot', content: '' }], 'messages.0.role'],
    ['/api/chat', 'messages', [{ role: 'user', content: 1 }], 'messages.0.content'],
    ['/api/chat', 'messages', [{ role: 'user', images: ['a'] }], 'messages.0.images'],
    ['/api/chat', 'messages', [{ role: 'assistant', thinking: 1 }], 'messages.0.thinking'],
    ['/api/chat', 'messages', [{ role: 'tool', tool_name: 1 }], 'messages.0.tool_name'],
    [
      '/api/chat',
      'messages',
      [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: 1 } }] }],
      'messages.0.tool_calls.0.function.arguments',
    ],
    [
      '/api/chat',
      'messages',
      [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '[1' } }] }],
      'messages.0.tool_calls.0.function.arguments',
    ],
    ['/api/chat', 'tools', {}],
    ['/api/chat', 'stream', 'no'],
    ['/api/chat', 'format', 'xml'],
    ['/api/chat', 'format', 1],
    ['/api/chat', 'think', 'deeply'],
    ['/api/chat', 'think', 1],
    ['/api/chat', 'keep_alive', {}],
    ['/api/chat', 'logprobs', 1],
    ['/api/chat', 'top_logprobs', 21],
    ['/api/chat', 'truncate', 1],
    ['/api/chat', 'shift', 1],
    ['/api/chat', 'options', []],
    ['/api/chat', '_debug_render_only', true],
    ['/api/generate', 'prompt', 1],
    ['/api/generate', 'system', 1],
    ['/api/generate', 'template', '{{ .Prompt }}'],
    ['/api/generate', 'raw', 1],
    ['/api/generate', 'suffix', 1],
    ['/api/generate', 'context', [1]],
    ['/api/generate', 'images', ['a']],
    ['/api/embed', 'input', 1],
    ['/api/embed', 'input', [1], 'input'],
    ['/api/embed', 'truncate', 1],
    ['/api/embed', 'dimensions', 'all'],
    ['/api/embed', 'options', 1],
    ['/api/embeddings', 'prompt', 1],
    ['/api/show', 'model', 1],
    ['/api/show', 'verbose', 1],
    ['/api/pull', 'name', 1],
    ['/api/pull', 'stream', 1],
    ...Object.entries({
      num_predict: 1.5,
      temperature: -1,
      top_k: 'all',
      top_p: 2,
      min_p: -1,
      seed: 'x',
      stop: [1],
      repeat_penalty: 0,
      repeat_last_n: -2,
      presence_penalty: 'x',
      frequency_penalty: true,
      num_ctx: '8192',
    }).map(([name, value]) => ['/api/chat', 'options', { [name]: value }, `options.${name}`] as const),
  ];

  const cases = given.map(([path, field, value, named = field]) => ({ path, field, value, named }));

  test.each(cases)('$path $named: $value', async ({ path, field, value, named }) => {
    const rest = path === '/api/chat' ? { messages } : {};
    const error = await refused(path, { model: 'demo', ...rest, [field]: value });
    expect(error.slice(0, 4)).toBe('400 ');
    expect(error).toContain(named);
  });
});

test('errors of routes have Ollama’s form', async () => {
  expect(await refused('/api/nothing', {})).toBe('404 there is no /api/nothing here');
  const response = await fetch(`${server.url}/api/chat`);
  expect([response.status, await json(response)]).toEqual([
    405,
    { error: '/api/chat has no GET: send POST' },
  ]);
  expect(
    await refused('/api/chat', { model: 'demo', messages: [{ role: 'user', content: 'a '.repeat(999) }] }),
  ).toMatch(/^400 .*too many for the context of 256/);
  expect(await refused('/api/embed', { model: 'demo', input: 'a' })).toMatch(
    /^400 "demo" is a model for generation/,
  );
  expect(await refused('/api/show', { model: 'x' })).toBe('404 model "x" not found, try pulling it first');
  const blob = await fetch(`${server.url}/api/blobs/sha256:00`, { method: 'HEAD' });
  expect(blob.status).toBe(404);
});

describe('results of calls', () => {
  const called = (...names: string[]) => ({
    role: 'assistant' as const,
    content: '',
    tool_calls: names.map((name) => ({ function: { name, arguments: {} } })),
  });
  const result = (more: object) => ({ role: 'tool' as const, content: 'ok', ...more });
  const idsOf = (...given: object[]) => {
    const { messages } = ollamaChatRequest.parse({ messages: given });
    return ollamaMessages({ messages }, () => {}).map((message) =>
      'tool_calls' in message ? message.tool_calls!.map(({ id }) => id) : message.tool_call_id,
    );
  };

  test('belong to the first open call of their tool; ids are those of Mistral’s form', () => {
    const ids = ['call00000', 'call00001', 'call00002'];
    const [a, b, c] = ids;
    const results = [{ tool_name: 'g' }, { name: 'f' }, { tool_name: 'f' }].map(result);
    expect(idsOf(called('f', 'g', 'f'), ...results)).toEqual([ids, b, a, c]);
    expect(idsOf(called('f', 'g'), result({}), result({}))).toEqual([[a, b], a, b]);
    expect(idsOf(called('f'), result({}), called('f'), result({}))).toEqual([[a], a, [b], b]);
  });

  test('ids of the client stay', () => {
    const one = called('f');
    const own = { ...one, tool_calls: [{ id: 'x', ...one.tool_calls[0] }] };
    expect(idsOf(own, result({ tool_call_id: 'x' }), result({}))).toEqual([['x'], 'x', undefined]);
  });
});

test('numbers of schemas keep their digits', async () => {
  const big = '1234567890123456789';
  const body = `{"model": "demo", "stream": false, "format": {"enum": [${big}]}, "messages": [{"role": "user", "content": "Go"}]}`;
  const { message } = await json(await post(`${server.url}/api/chat`, body));
  expect(message.content).toBe(big);
});
