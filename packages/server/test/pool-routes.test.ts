// Models on demand over HTTP: the test decides when a model is loaded.
import { type Model, RuntimeError } from '@quern/runtime';
import { Calls } from '../src/calls.js';
import { ModelPool, type ModelSource, type RunningServer, type ServeOptions, serve } from '../src/index.js';
import { Paths } from '../src/paths.js';
import { IgnoredFields } from '../src/requests/ignored-fields.js';
import { eachKind } from './each-kind.js';
import { FakeClock } from './fake-pool.js';
import { Gate, gated, readUntil } from './gated.js';
import { json, post, until } from './serving.js';
import { tone } from './tone.js';

const loaded = eachKind();

let gate: Gate;
let clock: FakeClock;
let pool: ModelPool;
let server: RunningServer;

/** A server of four models, whose loads wait at the gate; `second` is the demo model too. */
async function begin(options: Partial<ServeOptions> = {}, limits: { memoryBytes?: number } = {}) {
  gate = new Gate();
  clock = new FakeClock();
  const source = (kind: ModelSource['kind'], model: () => ModelSource['load']): ModelSource => ({
    kind,
    bytes: 6,
    load: async (signal) => {
      await gate.pass();
      return model()(signal);
    },
    unload: () => {},
  });
  const generates = { ...source('generation', () => async () => loaded.demo), facts: { context: 256 } };
  pool = new ModelPool({
    models: {
      first: generates,
      second: generates,
      encoder: source('embedding', () => async () => loaded.encoder),
      speech: source('speech', () => async () => loaded.speech),
    },
    idleMs: 60_000,
    clock,
    ...limits,
  });
  server = await serve({ models: pool, port: 0, keepAliveMs: 10, drainMs: 100, ...options });
  return server.url;
}
afterEach(async () => {
  gate.open();
  await server.close();
  await pool.dispose();
});

const form = (fields: Record<string, string>): FormData => {
  const data = new FormData();
  data.set('file', new Blob([new Uint8Array(tone())]), 'tone.wav');
  for (const [name, value] of Object.entries({ language: 'en', temperature: '0', ...fields }))
    data.set(name, value);
  return data;
};
const send = (path: string, body: object): Promise<Response> =>
  body instanceof FormData
    ? fetch(`${server.url}${path}`, { method: 'POST', body })
    : post(`${server.url}${path}`, body);

const messages = [{ role: 'user', content: 'hi' }];
const few = { model: 'first', max_tokens: 2, temperature: 0 };
const options = { num_predict: 2, temperature: 0 };
const comment = ': keep-alive\n\n';

/** Path, body, what comes while the model loads, the end of the answer, an error. */
const streams: [path: string, body: () => object, sign: string, end: RegExp, error: RegExp][] = [
  [
    '/v1/chat/completions',
    () => ({ messages, ...few, stream: true }),
    comment,
    /data: \[DONE\]\n\n$/,
    /^data: \{"error":\{"message":"the model \\"first\\" cannot be loaded: broken/m,
  ],
  [
    '/v1/completions',
    () => ({ prompt: 'hi', ...few, stream: true }),
    comment,
    /data: \[DONE\]\n\n$/,
    /^data: \{"error":/m,
  ],
  [
    '/completion',
    () => ({ model: 'first', prompt: 'hi', n_predict: 2, stream: true }),
    comment,
    /"stop":true.*\n\n$/,
    /^data: \{"error":/m,
  ],
  [
    '/v1/responses',
    () => ({ model: 'first', input: 'hi', max_output_tokens: 2, stream: true }),
    comment,
    /event: response\.(completed|incomplete)\n.*\n\n$/,
    /^event: error\ndata: \{"type":"error","sequence_number":0,"code":"model_load_failed"/m,
  ],
  [
    '/v1/messages',
    () => ({ messages, ...few, stream: true }),
    'event: ping\ndata: {"type":"ping"}\n\n',
    /event: message_stop\n.*\n\n$/,
    /^event: error\ndata: \{"type":"error","error":\{"type":"api_error"/m,
  ],
  [
    '/api/chat',
    () => ({ model: 'first', messages, options }),
    ' ',
    /"done":true.*\n$/,
    /^ +\{"error":"the model/,
  ],
  [
    '/api/generate',
    () => ({ model: 'first', prompt: 'hi', options }),
    ' ',
    /"done":true.*\n$/,
    /^ +\{"error":/,
  ],
  [
    '/v1/audio/transcriptions',
    () => form({ stream: 'true' }),
    comment,
    /transcript\.text\.done.*\n\n$/,
    /^data: \{"error":/m,
  ],
];

test.each(streams)('%s: signs of life while the model loads, then the answer', async (...given) => {
  const [path, body, sign, end] = given;
  await begin();
  const response = await send(path, body());
  expect(response.status).toBe(200);
  const text = await readUntil(
    response,
    (so) => so.split(sign).length > 2,
    () => gate.open(),
  );
  expect(text).toMatch(end);
  expect(text.startsWith(sign + sign)).toBe(true);
  const atOnce = await (await send(path, body())).headers.get('content-type');
  expect(response.headers.get('content-type')).toBe(atOnce);
});

test.each(streams)('%s: a load that fails is an event of the stream', async (...given) => {
  const [path, body, sign, , error] = given;
  await begin();
  const text = await readUntil(
    await send(path, body()),
    (so) => so.includes(sign),
    () => gate.fail(new Error('broken')),
  );
  expect(text).toMatch(error);
  await until(() => server.running === 0);
  expect([server.running, pool.models.map(({ counts }) => counts.running)]).toEqual([0, [0, 0, 0, 0]]);
});

/** Answers in JSON. */
const wholes: [path: string, body: () => object][] = [
  ['/v1/chat/completions', () => ({ messages, ...few })],
  ['/v1/messages', () => ({ messages, ...few })],
  ['/v1/messages/count_tokens', () => ({ messages, model: 'first' })],
  ['/api/chat', () => ({ model: 'first', messages, options, stream: false })],
  ['/v1/embeddings', () => ({ model: 'encoder', input: 'a b' })],
  ['/api/embed', () => ({ model: 'encoder', input: 'a b' })],
  ['/embed', () => ({ model: 'encoder', inputs: 'a b' })],
  ['/v1/rerank', () => ({ model: 'encoder', query: 'a', documents: ['b', 'c'] })],
  ['/v1/audio/transcriptions', () => form({})],
  ['/tokenize', () => ({ model: 'first', prompt: 'hi' })],
  ['/models/load', () => ({ model: 'first' })],
];

test.each(wholes)('%s: white space while the model loads, then the answer', async (path, body) => {
  await begin();
  const response = await send(path, body());
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  const text = await readUntil(
    response,
    (so) => so.length >= 2,
    () => gate.open(),
  );
  expect(text).toMatch(/^\n\n+[{[]/);
  expect(JSON.parse(text).error ?? null).toBeNull();
});

test.each(wholes)('%s: a load that fails before the first sign of life has a status', async (path, body) => {
  await begin({ keepAliveMs: 0 });
  gate.fail(new RuntimeError('MODEL_TOO_LARGE', 'the model is too large: 5 GB do not fit in 4 GB'));
  const response = await send(path, body());
  expect(response.status).toBe(503);
  expect(await response.text()).toMatch(/cannot be loaded: the model is too large: 5 GB do not fit in 4 GB/);
});

test('other failures are 500; a path of this machine is not told; the next request tries again', async () => {
  await begin({ keepAliveMs: 0 });
  gate.fail(new Error('no such file: /home/me/model.gguf'));
  const response = await send('/v1/completions', { ...few, prompt: 'hi' });
  expect([response.status, (await json(response)).error]).toEqual([
    500,
    expect.objectContaining({
      code: 'model_load_failed',
      param: 'model',
      message: 'the server failed; its log has the reason',
    }),
  ]);
  const { data } = await json(await fetch(`${server.url}/v1/models`));
  expect(data[0].status).toEqual({ value: 'unloaded', failed: true });
  gate = new Gate();
  gate.open();
  expect((await send('/v1/completions', { ...few, prompt: 'hi' })).status).toBe(200);
});

test('the time of a request does not run while it waits for its model, and begins anew after it', async () => {
  await begin();
  const rules = { requestMs: 20, keepAliveMs: 0, strict: false };
  const others = { paths: new Paths(pool, undefined), ignored: new IgnoredFields(undefined!, undefined) };
  const calls = new Calls(1, { ...rules, ...others });
  const call = calls.open('a', new AbortController().signal, () => {});
  calls.begin(call);
  const waits = call.waitFor(gate.pass(), 'json');
  await new Promise((resolve) => setTimeout(resolve, 60)); // three times the time of a request
  expect(call.signal.aborted).toBe(false);
  gate.open();
  await waits;
  await until(() => call.signal.aborted);
  expect(call.signal.aborted).toBe(true);
  call.end();
});

test('a client that leaves while its model loads: its request ends, the load goes on', async () => {
  await begin();
  for (const body of [
    { messages, ...few },
    { messages, ...few, stream: true },
  ]) {
    const response = await send('/v1/chat/completions', body);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  }
  await until(() => server.running === 0);
  expect([server.running, pool.find('first')!.counts.waiting]).toEqual([0, 0]);
  gate.open();
  await until(() => pool.find('first')!.state === 'loaded');
  expect(pool.find('first')).toMatchObject({ state: 'loaded', counts: { running: 0, loads: 1 } });
});

test('a model stays loaded until its stream has ended', async () => {
  await begin();
  gate.open();
  const answers = new Gate();
  const generate = loaded.demo.generate.bind(loaded.demo);
  const slow = Object.assign(Object.create(loaded.demo) as Model, {
    generate: (...args: Parameters<Model['generate']>) => gated(() => generate(...args), answers, 1),
  });
  const first: ModelSource = { kind: 'generation', load: async () => slow, unload: () => {} };
  const slowPool = new ModelPool({ models: { first }, idleMs: 60_000, clock });
  const other = await serve({ models: slowPool, port: 0 });
  const body = { ...few, prompt: 'hi', ignore_eos: true, stream: true };
  const response = await post(`${other.url}/v1/completions`, body);
  await clock.pass(60_000);
  expect(slowPool.find('first')).toMatchObject({ state: 'loaded', counts: { running: 1 } });
  answers.open();
  expect(await response.text()).toMatch(/\[DONE\]/);
  await until(() => slowPool.find('first')!.counts.running === 0);
  await clock.pass(60_000);
  expect(slowPool.find('first')).toMatchObject({ state: 'unloaded', counts: { running: 0 } });
  await other.close();
});

test('models that do not fit together take turns', async () => {
  await begin({}, { memoryBytes: 10 });
  gate.open();
  const names = ['first', 'encoder', 'second', 'speech'];
  const bodies: [string, object][] = [
    ['/tokenize', { model: 'first', prompt: 'hi' }],
    ['/v1/embeddings', { model: 'encoder', input: 'a' }],
    ['/tokenize', { model: 'second', prompt: 'hi' }],
    ['/v1/audio/transcriptions', form({})],
  ];
  const responses = await Promise.all(bodies.map(([path, body]) => send(path, body)));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(names.map((name) => pool.find(name)!.counts.loads)).toEqual([1, 1, 1, 1]);
  expect(pool.models.filter(({ state }) => state === 'loaded')).toHaveLength(1);
});

test('lists have all models, with kinds, modalities, context and state', async () => {
  await begin({ aliases: { 'gpt-4o': 'first' } });
  const list = async () => (await json(await fetch(`${server.url}/v1/models`))).data;
  expect((await list()).map(({ id, state, kind }: Record<string, unknown>) => [id, state, kind])).toEqual([
    ['first', 'unloaded', 'generation'],
    ['second', 'unloaded', 'generation'],
    ['encoder', 'unloaded', 'embedding'],
    ['speech', 'unloaded', 'speech'],
    ['gpt-4o', 'unloaded', 'generation'],
  ]);
  expect((await list())[0]).toMatchObject({
    context_length: 256,
    status: { value: 'unloaded' },
    architecture: { input_modalities: ['text'], output_modalities: ['text'] },
  });
  expect((await list())[3].architecture.input_modalities).toEqual(['audio']);
  const loading = send('/models/load', { model: 'gpt-4o' });
  await until(() => pool.find('first')!.state === 'loading');
  expect((await list())[0].state).toBe('loading');
  gate.open();
  expect(await json(await loading)).toEqual({ success: true });
  expect((await list())[0]).toMatchObject({ state: 'loaded', backend: 'cpu', meta: { n_vocab: 2048 } });
  expect(await json(await fetch(`${server.url}/v1/models/gpt-4o`))).toMatchObject({ state: 'loaded' });
  await send('/models/unload', { model: 'first' });
  expect((await list())[0]).toMatchObject({ state: 'unloaded', meta: { n_vocab: 2048 } }); // known from then on
});

test('Ollama’s lists: all models, and those that are loaded with the time of their end', async () => {
  await begin();
  gate.open();
  const names = async (path: string) =>
    (await json(await fetch(server.url + path))).models.map(({ name }: { name: string }) => name);
  expect(await names('/api/tags')).toEqual(['first:latest', 'second:latest', 'encoder:latest']);
  expect(await names('/api/ps')).toEqual([]);
  await send('/api/embed', { model: 'encoder', input: 'a' });
  await send('/api/generate', { model: 'first', keep_alive: -1, stream: false });
  const { models } = await json(await fetch(`${server.url}/api/ps`));
  expect(models.map((each: Record<string, unknown>) => [each.name, each.expires_at])).toEqual([
    ['first:latest', '2318-01-01T00:00:00Z'],
    ['encoder:latest', new Date(clock.now() + 60_000).toISOString()],
  ]);
});

test.each([
  ['5m', 300],
  [90, 90],
  ['1h30m', 5400],
  ['45', 45],
])('Ollama’s keep_alive %j: the model stays for %j seconds', async (keep_alive, seconds) => {
  await begin();
  gate.open();
  const answer = await send('/api/chat', { model: 'first', messages, options, keep_alive, stream: false });
  expect((await json(answer)).load_duration).toBeGreaterThan(0);
  await until(() => pool.find('first')!.counts.running === 0);
  expect(pool.find('first')!.expires).toBe(clock.now() + 1000 * seconds);
});

test('Ollama’s keep_alive 0 without a prompt unloads; a wrong one is refused', async () => {
  await begin();
  gate.open();
  await send('/models/load', { model: 'first' });
  for (const [path, shown] of [
    ['/api/generate', { response: '' }],
    ['/api/chat', { message: { role: 'assistant', content: '' } }],
  ] as const)
    expect(
      await json(await send(path, { model: 'first', messages: [], keep_alive: 0, stream: false })),
    ).toMatchObject({ ...shown, done: true, done_reason: 'unload' });
  await until(() => pool.find('first')!.state === 'unloaded');
  expect(pool.find('first')!.counts).toMatchObject({ loads: 1, unloads: 1 });
  const wrong = await send('/api/generate', { model: 'first', keep_alive: 'soon' });
  expect([wrong.status, (await json(wrong)).error]).toEqual([400, expect.stringMatching(/keep_alive/)]);
  const unknown = await send('/api/generate', { model: 'none', keep_alive: 0 });
  expect([unknown.status, (await json(unknown)).error]).toEqual([
    404,
    'model "none" not found, try pulling it first',
  ]);
});

test('loading and unloading by hand: names, keys, fixed models', async () => {
  await begin({ apiKeys: ['secret'] });
  gate.open();
  const ask = (path: string, model: string, headers = { authorization: 'Bearer secret' }) =>
    post(`${server.url}/models/${path}`, { model }, headers);
  expect((await ask('load', 'first', { authorization: 'Bearer wrong' })).status).toBe(401);
  expect((await ask('load', 'none')).status).toBe(404);
  expect((await ask('load', 'first:latest')).status).toBe(200);
  expect((await ask('load', 'first')).status).toBe(200); // it is loaded
  expect(await json(await ask('unload', 'first'))).toEqual({ success: true });
  expect(await json(await ask('unload', 'first'))).toEqual({ success: true });
  const fixed = await serve({ models: { demo: loaded.demo }, port: 0 });
  const refused = await post(`${fixed.url}/models/unload`, { model: 'demo' });
  expect([refused.status, (await json(refused)).error.code]).toEqual([400, 'pinned']);
  expect(await json(await post(`${fixed.url}/models/load`, { model: 'demo' }))).toEqual({ success: true });
  await fixed.close();
});

test('llama.cpp’s /props and /slots and TEI’s /info load the model that they show', async () => {
  await begin();
  gate.open();
  expect((await fetch(`${server.url}/props?model=first`)).status).toBe(200);
  expect((await fetch(`${server.url}/slots?model=second`)).status).toBe(200);
  expect((await fetch(`${server.url}/info`)).status).toBe(200);
  const running = pool.models.map(({ counts }) => [counts.loads, counts.running]);
  expect(running).toEqual([
    [1, 0],
    [1, 0],
    [1, 0],
    [0, 0],
  ]);
});

test('an adapter that a load brings is a name from the start', async () => {
  gate = new Gate();
  clock = new FakeClock();
  const adapters = ['poet'];
  const load = async () => loaded.demo;
  pool = new ModelPool({
    models: { first: { kind: 'generation', adapters, load, unload: () => {} } },
    clock,
  });
  server = await serve({ models: pool, port: 0, aliases: { bard: 'poet' } });
  const { data } = await json(await fetch(`${server.url}/v1/models`));
  expect(data.map(({ id, parent }: Record<string, unknown>) => [id, parent])).toEqual([
    ['first', undefined],
    ['poet', 'first'],
    ['bard', 'first'],
  ]);
  expect((await send('/tokenize', { model: 'poet', prompt: 'hi' })).status).toBe(200);
  expect(pool.find('first')!.counts.loads).toBe(1);
});

test('metrics count loads, failures, unloads, waiting requests and bytes', async () => {
  await begin();
  const metric = async (name: string) => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return new RegExp(`^quern:${name}\\{model_name="first"\\} (.*)$`, 'm').exec(text)?.[1];
  };
  const names = ['loaded', 'memory_bytes', 'waiting_requests', 'loads_total', 'unloads_total'];
  const all = () => Promise.all(names.map((name) => metric(`model_${name}`)));
  const answer = send('/tokenize', { model: 'first', prompt: 'hi' });
  await until(() => pool.find('first')!.counts.waiting === 1);
  expect(await all()).toEqual(['0', '6', '1', '0', '0']);
  gate.open();
  await answer;
  expect(await all()).toEqual(['1', '6', '0', '1', '0']);
  expect(await metric('num_requests_running')).toBe('0');
  await send('/models/unload', { model: 'first' });
  expect(await all()).toEqual(['0', '0', '0', '1', '1']);
  expect(await metric('num_requests_running')).toBeUndefined(); // no count of a model that is gone
  gate = new Gate();
  gate.fail(new Error('broken'));
  await send('/models/load', { model: 'first' });
  expect(await metric('model_load_failures_total')).toBe('1');
});

test('a server that closes ends the wait for a model', async () => {
  await begin({ keepAliveMs: 0, drainMs: 10 });
  const answer = send('/tokenize', { model: 'first', prompt: 'hi' });
  await until(() => server.running === 1);
  await server.close();
  expect((await answer).status).toBe(499);
  expect(pool.find('first')!.counts.waiting).toBe(0);
});
