// Routes without /v1, routes that are refused, what clients read of models, metrics.
import { describeFile } from '@quern/runtime';
import OpenAI from 'openai';
import { createHandler } from '../src/index.js';
import { demo, json, post, served } from './serving.js';

const server = served();

const messages = [{ role: 'user' as const, content: 'Hi' }];
const fixed = { model: 'demo', max_tokens: 4, temperature: 0 };

test.each([
  ['/chat/completions', { ...fixed, messages }, 'choices'],
  ['/responses', { model: 'demo', input: 'Hi', max_output_tokens: 4, temperature: 0 }, 'usage'],
  ['/messages', { ...fixed, messages }, 'content'],
])('%s answers as with /v1', async (path, body, field) => {
  const [found, expected] = [
    await post(server.url + path, body),
    await post(`${server.url}/v1${path}`, body),
  ];
  expect(found.status).toBe(200);
  const [mine, theirs] = [await json(found), await json(expected)];
  expect(mine[field]).toBeDefined();
  expect(mine[field]).toEqual(theirs[field]);
});

test('errors of /messages have Anthropic’s form', async () => {
  const response = await post(`${server.url}/messages`, { ...fixed, messages: 5 });
  expect(await json(response)).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
});

test('openai’s client with an address without /v1', async () => {
  const client = new OpenAI({ baseURL: server.url, apiKey: 'any', maxRetries: 0 });
  const { choices } = await client.chat.completions.create({ ...fixed, messages });
  expect(choices[0]!.message.content).toBeTruthy();
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['demo']);
  expect((await client.models.retrieve('demo')).id).toBe('demo');
});

test.each([
  ['/v1/audio/speech', 'transcriptions'],
  ['/v1/images/generations', 'images'],
  ['/v1/moderations', 'moderation'],
  ['/v1/files', 'stored'],
  ['/v1/batches', 'stored'],
  ['/v1/fine_tuning/jobs', 'adapters'],
  ['/files/abc', 'stored'],
])('%s is refused with what there is instead', async (path, says) => {
  for (const method of ['GET', 'POST']) {
    const response = await fetch(server.url + path, { method });
    const { error } = await json(response);
    expect([response.status, error.code]).toEqual([404, 'not_supported']);
    expect(error.message).toContain(says);
  }
});

test('a path that only begins alike is unknown', async () => {
  expect((await json(await fetch(`${server.url}/filesystem`))).error.code).toBe('unknown_route');
});

test('/v1/models: the context under the names that clients read', async () => {
  const { data } = await json(await fetch(`${server.url}/v1/models`));
  const { tensors } = await describeFile(demo);
  const counts = tensors.map(({ shape }) => shape.reduce((product, each) => product * each, 1));
  expect(data[0]).toMatchObject({
    ...{ max_model_len: 256, context_length: 256, context_window: 256, max_context_length: 256 },
    meta: {
      n_ctx: 256,
      n_ctx_train: server.model.config.context,
      n_vocab: 2048,
      n_embd: server.model.config.width,
      n_params: counts.reduce((sum, each) => sum + each),
      size: tensors.reduce((sum, { byteLength }) => sum + byteLength, 0),
    },
  });
});

test('page: false', async () => {
  const bare = createHandler({ models: { demo: server.model }, page: false });
  const get = async (path: string) =>
    bare.fetch(new Request(`http://localhost${path}`, { headers: { accept: 'text/html' } }));
  expect((await get('/page/page.js')).status).toBe(404);
  expect((await get('/health')).status).toBe(200);
  expect(await (await get('/')).text()).toBe('Ollama is running');
});

describe('GET and HEAD /', () => {
  const html = 'text/html; charset=utf-8';
  const text = 'text/plain; charset=utf-8';
  test.each([
    [undefined, text],
    ['*/*', text],
    ['application/json, text/plain, */*', text],
    ['application/json, text/html;q=0', text],
    ['text/html', html],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', html],
  ])('Accept %s', async (accept, type) => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    const response = await fetch(server.url, { headers });
    const { status } = response;
    expect([status, response.headers.get('content-type')]).toEqual([200, type]);
    expect(response.headers.get('vary')).toContain('Accept');
    const body = await response.text();
    if (type === text) expect(body).toBe('Ollama is running');
    else expect(body).toMatch(/^<!doctype html>/i);
    const head = await fetch(server.url, { headers, method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([200, type, '']);
  });
});

test('/metrics: facts of the cache; adapters of requests under way', async () => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const { blocks, blockSize } = server.model.stats();
  const [, labels] = /^quern:cache_config_info\{(.*)\} 1$/m.exec(text)!;
  expect(labels).toContain(`block_size="${blockSize}",num_gpu_blocks="${blocks}"`);
  expect(labels).toContain(`kv_cache_size_tokens="${blocks * blockSize}"`);
  expect(text).not.toMatch(/^quern:lora_requests_info\{/m);
});

test('metricsPrefix: its form', () => {
  const make = (metricsPrefix: string) => () =>
    createHandler({ models: { demo: server.model }, metricsPrefix });
  expect(make('vllm:')).not.toThrow();
  for (const wrong of ['1a', 'a b', 'a-b']) expect(make(wrong)).toThrow(/metricsPrefix/);
});
