// Clients that go away, servers that close, limits.
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Model } from '@quern/runtime';
import { createHandler } from '../src/index.js';
import { Gate, gated } from './gated.js';
import { json, loadDemo, post, serving, until } from './serving.js';

let model: Model;
beforeAll(async () => {
  model = await loadDemo(2);
});
afterAll(() => model.dispose());

const chat = { messages: [{ role: 'user', content: 'Tell me a story.' }], ignore_eos: true, max_tokens: 200 };
const all = () => model.stats().blocks;

test('a client that goes away ends its generation: all blocks are free', async () => {
  const server = await serving(model);
  for (const stream of [true, false]) {
    const abort = new AbortController();
    const response = fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...chat, stream }),
      signal: abort.signal,
    });
    response.catch(() => {});
    await until(() => model.stats().running > 0 || model.freeBlocks < all());
    if (stream) await (await response).body!.getReader().read();
    abort.abort();
    await until(() => model.freeBlocks === all() && server.running === 0);
    expect([model.freeBlocks, server.running]).toEqual([all(), 0]);
  }
  await server.close();
});

test('a client that does not read holds nobody up', async () => {
  const server = await serving(model);
  const url = new URL(`${server.url}/v1/chat/completions`);
  const slow = request(url, { method: 'POST', headers: { 'content-type': 'application/json' } });
  slow.on('response', (response) => response.pause());
  slow.on('error', () => {});
  slow.end(JSON.stringify({ ...chat, stream: true }));
  await until(() => server.running > 0);
  const other = await post(`${server.url}/v1/chat/completions`, { ...chat, max_tokens: 5 });
  expect((await json(other)).usage.completion_tokens).toBe(5);
  slow.destroy();
  await until(() => server.running === 0);
  await server.close();
});

test('a closing server ends running requests and refuses new ones', async () => {
  const handler = createHandler({ models: { demo: model } });
  const ask = (body: object) =>
    handler.fetch(
      new Request('http://x/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
  const running = ask({ ...chat, max_tokens: 60 });
  await until(() => handler.running === 1);
  const drained = handler.drain();
  expect((await handler.fetch(new Request('http://x/ready'))).status).toBe(503);
  const refused = await ask(chat);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await json(await running)).usage.completion_tokens).toBe(60);
  await drained;
  expect(handler.running).toBe(0);
});

test('a closing server listens until its requests have ended', async () => {
  const gate = new Gate();
  const waiting = Object.assign(Object.create(model) as Model, {
    generate: (...args: Parameters<Model['generate']>) => gated(() => model.generate(...args), gate, 0),
  });
  const server = await serving(waiting);
  const url = `${server.url}/v1/completions`;
  const asked = post(url, { prompt: 'Once', max_tokens: 100, temperature: 0, ignore_eos: true });
  await until(() => server.running === 1);
  const closed = server.close();
  const status = async (path: string) => (await fetch(`${server.url}${path}`)).status;
  expect([await status('/ready'), await status('/health')]).toEqual([503, 200]);
  const refused = await post(`${server.url}/v1/completions`, { prompt: 'Once' });
  expect([refused.status, (await json(refused)).error.code]).toEqual([503, 'shutting_down']);
  gate.open();
  expect((await json(await asked)).usage.completion_tokens).toBe(100);
  await closed;
  await expect(fetch(`${server.url}/health`)).rejects.toThrow();
});

test('a connection that asks nothing does not hold a closing server', async () => {
  const server = await serving(model);
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const ended = new Promise((resolve) => socket.on('close', resolve));
  await new Promise((resolve) => socket.on('connect', resolve));
  await Promise.all([server.close(), ended]);
});

test('a drain with a limit aborts what is left', async () => {
  const handler = createHandler({ models: { demo: model } });
  const body = JSON.stringify({ ...chat, stream: true });
  const headers = { 'content-type': 'application/json' };
  const response = await handler.fetch(
    new Request('http://x/v1/chat/completions', { method: 'POST', headers, body }),
  );
  await response.body!.getReader().read(); // and no further
  await handler.drain(10);
  expect(handler.running).toBe(0);
  await until(() => model.freeBlocks === all());
  expect(model.freeBlocks).toBe(all());
});

test('too many requests: 429 and when to ask again', async () => {
  const server = await serving(model, { requests: 1 });
  const running = post(`${server.url}/v1/chat/completions`, chat);
  await until(() => server.running === 1);
  const refused = await post(`${server.url}/v1/chat/completions`, chat);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect((await json(refused)).error).toMatchObject({ type: 'rate_limit_error', code: 'too_many_requests' });
  await running;
  await server.close();
});

test('a request that takes too long: 504', async () => {
  const server = await serving(model, { requestMs: 1 });
  const response = await post(`${server.url}/v1/chat/completions`, chat);
  expect([response.status, (await json(response)).error.code]).toEqual([504, 'timeout']);
  await server.close();
});

test('routes and methods that do not exist; health; metrics; one line of the log per request', async () => {
  const lines: object[] = [];
  const server = await serving(model, { log: (entry) => lines.push(entry) });
  const status = async (path: string, method = 'GET') =>
    (await fetch(`${server.url}${path}`, { method })).status;
  expect(await status('/v1/nothing')).toBe(404);
  expect(await status('/v1/chat/completions')).toBe(405);
  const allowed = async (path: string, method: string) =>
    (await fetch(`${server.url}${path}`, { method })).headers.get('allow');
  expect(await allowed('/v1/chat/completions', 'DELETE')).toBe('POST');
  for (const path of ['/health', '/v1/models', '/v1/models/demo', '/metrics', '/'])
    expect([path, await status(path, 'POST'), await allowed(path, 'PUT')]).toEqual([path, 405, 'GET, HEAD']);
  expect(await allowed('/v1/nothing', 'POST')).toBeNull();
  expect(await status('/health')).toBe(200);
  expect(await status('/ready')).toBe(200);
  await post(`${server.url}/v1/completions`, { prompt: 'Once', max_tokens: 3 });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  for (const name of [
    'num_requests_running',
    'kv_cache_usage_perc',
    'prefix_cache_hits_total',
    'generation_tokens_total',
  ])
    expect(metrics).toContain(`quern:${name}{model_name="demo"}`);
  expect(metrics).toContain('quern:request_success_total{model_name="demo",finished_reason="length"} 1');
  const { messages: _, ...wrong } = chat;
  await post(`${server.url}/v1/chat/completions`, wrong);
  const stream = await post(`${server.url}/v1/chat/completions`, { ...chat, stream: true, max_tokens: 3 });
  await stream.text();
  await until(() => lines.length === 3);
  expect(lines).toMatchObject([
    { method: 'POST', path: '/v1/completions', status: 200, ms: expect.any(Number) },
    { path: '/v1/chat/completions', status: 400, error: expect.stringContaining('messages') },
    { path: '/v1/chat/completions', status: 200 },
  ]);
  await server.close();
});

test.each<[object, string]>([
  [{ type: 'regex', regex: 'a'.repeat(1 << 20) }, '1048576 characters; the bound is 32768'],
  [
    { type: 'grammar', grammar: `root ::= "${'a'.repeat(1 << 20)}"` },
    '1048587 characters; the bound is 262144',
  ],
  [
    {
      type: 'json_schema',
      json_schema: { schema: { enum: Array.from({ length: 100_000 }, (_, i) => `v${i}`) } },
    },
    '/enum: the schema has 100000 alternatives here; the bound is 2000',
  ],
])('a structure that is too large: 400 with the numbers', async (response_format, message) => {
  const server = await serving(model);
  const refused = await post(`${server.url}/v1/chat/completions`, {
    messages: chat.messages,
    response_format,
  });
  const { error } = await json(refused);
  expect([refused.status, error.param]).toEqual([400, 'response_format']);
  expect(error.message).toContain(message);
  await server.close();
});

test('every response has the id of its request', async () => {
  const lines: { id?: string }[] = [];
  const server = await serving(model, { apiKeys: ['k'], log: (entry) => lines.push(entry) });
  const key = { authorization: 'Bearer k' };
  const ids = async (path: string, init: RequestInit) => {
    const { headers } = await fetch(`${server.url}${path}`, init);
    return [headers.get('x-request-id'), headers.get('request-id')];
  };
  const own = expect.stringMatching(/^[\da-f-]{36}$/);
  for (const path of ['/health', '/', '/v1/models', '/v1/nothing'])
    expect(await ids(path, {})).toEqual([own, null]);
  const given = { 'x-request-id': 'trace-17', 'content-type': 'application/json', ...key };
  const body = JSON.stringify({ prompt: 'Once', max_tokens: 1 });
  expect(await ids('/v1/completions', { method: 'POST', headers: given, body })).toEqual(['trace-17', null]);
  for (const id of ['x'.repeat(129), 'a b', 'a"b'])
    expect(await ids('/health', { headers: { 'x-request-id': id } })).toEqual([own, null]);
  expect(await ids('/v1/messages', { method: 'POST', headers: given, body })).toEqual([
    'trace-17',
    'trace-17',
  ]);
  await until(() => lines.length === 2);
  expect(lines.map(({ id }) => id)).toEqual(['trace-17', 'trace-17']);
  await server.close();
});

test('a port that is taken rejects', async () => {
  const server = await serving(model);
  await expect(serving(model, { port: Number(new URL(server.url).port) })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  await server.close();
});
