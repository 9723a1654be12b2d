// While nothing is generated, clients and proxies see that the answer still comes. The work waits until the signs of
// life are there: no test waits for a time.
import Anthropic from '@anthropic-ai/sdk';
import type { Embedder, Model, SpeechModel } from '@quern/runtime';
import OpenAI from 'openai';
import { type RunningServer, type ServeOptions, serve } from '../src/index.js';
import { eachKind } from './each-kind.js';
import { Gate, gated, readUntil } from './gated.js';
import { post, until } from './serving.js';
import { tone } from './tone.js';

const loaded = eachKind();

let gate: Gate;
let server: RunningServer | undefined;
beforeEach(() => {
  gate = new Gate();
});
afterEach(async () => {
  gate.open();
  await server?.close();
  server = undefined;
});

/** The models, whose work waits at the gate before the piece of this number. */
async function begin(before = 0, options: Partial<ServeOptions> = {}): Promise<string> {
  const { demo, encoder, speech } = loaded;
  const slow = Object.assign(Object.create(demo) as Model, {
    chat: (...args: Parameters<Model['chat']>) => gated(() => demo.chat(...args), gate, before),
    generate: (...args: Parameters<Model['generate']>) => gated(() => demo.generate(...args), gate, before),
  });
  const slowEncoder = Object.assign(Object.create(encoder) as Embedder, {
    embed: (...args: Parameters<Embedder['embed']>) => gate.pass().then(() => encoder.embed(...args)),
    rerank: (...args: Parameters<Embedder['rerank']>) => gate.pass().then(() => encoder.rerank(...args)),
  });
  const slowSpeech = Object.assign(Object.create(speech) as SpeechModel, {
    transcribe: (...args: Parameters<SpeechModel['transcribe']>) =>
      gated(() => speech.transcribe(...args), gate, before),
  });
  const models = { demo: slow, encoder: slowEncoder, speech: slowSpeech };
  server = await serve({ models, port: 0, keepAliveMs: 10, ...options });
  return server.url;
}

const form = (fields: Record<string, string>): FormData => {
  const data = new FormData();
  data.set('file', new Blob([new Uint8Array(tone())]), 'tone.wav');
  for (const [name, value] of Object.entries({ language: 'en', temperature: '0', ...fields }))
    data.set(name, value);
  return data;
};
const send = (url: string, path: string, body: object): Promise<Response> =>
  body instanceof FormData ? fetch(`${url}${path}`, { method: 'POST', body }) : post(`${url}${path}`, body);

const messages = [{ role: 'user', content: 'hi' }];
const few = { max_tokens: 4, temperature: 0, ignore_eos: true };
const { ignore_eos: _, ...fewForAnthropic } = few;
const comment = ': keep-alive\n\n';
const ping = 'event: ping\ndata: {"type":"ping"}\n\n';

/** Path, body, sign of life, end of the stream. */
const streams: [path: string, body: () => object, sign: string, end: RegExp][] = [
  ['/v1/chat/completions', () => ({ messages, ...few }), comment, /data: \[DONE\]\n\n$/],
  ['/v1/completions', () => ({ prompt: 'hi', ...few }), comment, /data: \[DONE\]\n\n$/],
  [
    '/v1/responses',
    () => ({ input: 'hi', max_output_tokens: 4, temperature: 0 }),
    comment,
    /event: response\.(completed|incomplete)\n.*\n\n$/,
  ],
  ['/v1/messages', () => ({ messages, ...fewForAnthropic }), ping, /event: message_stop\n.*\n\n$/],
  ['/v1/audio/transcriptions', () => form({ stream: 'true' }), comment, /transcript\.text\.done.*\n\n$/],
];
const streaming = (body: object) => (body instanceof FormData ? body : { ...body, stream: true });

test.each(streams)('%s: signs of life before the first token', async (path, body, sign, end) => {
  const url = await begin();
  const response = await send(url, path, streaming(body()));
  expect(response.status).toBe(200);
  const text = await readUntil(
    response,
    (so) => so.split(sign).length > 2,
    () => gate.open(),
  );
  expect(text).toMatch(end);
  const rest = text.replaceAll(sign, '');
  expect(rest).toMatch(/^(event|data): /);
  expect(rest).not.toContain('keep-alive');
});

test.each(streams.slice(0, 4))('%s: signs of life in the middle of an answer', async (path, body, sign) => {
  const url = await begin(2);
  const response = await send(url, path, streaming(body()));
  const text = await readUntil(
    response,
    (so) => so.split(sign).length > 2,
    () => gate.open(),
  );
  expect(text.slice(text.lastIndexOf(sign))).toMatch(/(content|text|delta)/);
});

test.each(streams)('%s: an error after the first sign of life is an event', async (path, body, sign) => {
  const url = await begin();
  const text = await readUntil(
    await send(url, path, streaming(body())),
    (so) => so.includes(sign),
    () => gate.fail(new Error('a fault')),
  );
  expect(text).toMatch(/"message":"internal error"/);
  await until(() => server!.running === 0);
  expect(server!.running).toBe(0);
});

test.each(streams)('%s: with keepAliveMs 0 there are none', async (path, body, sign) => {
  const url = await begin(0, { keepAliveMs: 0 });
  const asked = send(url, path, streaming(body()));
  await until(() => server!.running === 1);
  await new Promise((resolve) => setTimeout(resolve, 30)); // three times the interval of the other tests
  gate.open();
  expect(await (await asked).text()).not.toContain(sign);
});

/** Answers in JSON. */
const wholes: [path: string, body: () => object][] = [
  ...streams.slice(0, 4).map(([path, body]): [string, () => object] => [path, body]),
  ['/v1/embeddings', () => ({ model: 'encoder', input: ['a b', 'c'] })],
  ['/v1/rerank', () => ({ model: 'encoder', query: 'a', documents: ['b', 'c'] })],
  ['/v1/audio/transcriptions', () => form({})],
  ['/v1/audio/transcriptions', () => form({ response_format: 'verbose_json' })],
  ['/v1/audio/translations', () => form({})],
];

test.each(wholes)('%s %#: the headers come early, and white space before the JSON', async (path, body) => {
  const url = await begin();
  const response = await send(url, path, body());
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  const text = await readUntil(
    response,
    (so) => so.length >= 2,
    () => gate.open(),
  );
  expect(text).toMatch(/^\n\n+\{/);
  const answer = JSON.parse(text);
  expect(answer.error ?? null).toBeNull();
  const changing = /"(id|created|created_at|cached_tokens|\w*input_tokens|timings)":("[^"]*"|\d+|\{[^}]*\})/g;
  const atOnce = await (await send(url, path, body())).text(); // the gate is open
  expect(text.trim().replace(changing, '')).toBe(atOnce.trim().replace(changing, ''));
});

test.each(wholes)('%s %#: a late error is the body, and has its status there', async (path, body) => {
  const url = await begin();
  const text = await readUntil(
    await send(url, path, body()),
    () => true,
    () => gate.fail(new Error('a fault')),
  );
  expect(JSON.parse(text)).toMatchObject({ status: 500, error: { message: 'internal error' } });
  await until(() => server!.running === 0);
});

test('a whole answer that takes longer than the server allows: 504, in the body if it is late', async () => {
  const url = await begin(0, { requestMs: 200 });
  const response = await send(url, '/v1/completions', { prompt: 'hi', max_tokens: 200, ignore_eos: true });
  setTimeout(() => gate.open(), 300);
  const { error, status = response.status } = JSON.parse(await response.text());
  expect([status, error.code]).toEqual([504, 'timeout']);
});

test.each(['text', 'srt', 'vtt'])('%s: the headers come early, and nothing but the text', async (format) => {
  const url = await begin();
  const ask = () => send(url, '/v1/audio/transcriptions', form({ response_format: format }));
  const response = await ask();
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  gate.open();
  expect(await response.text()).toBe(await (await ask()).text());
});

test('a late error of a text breaks the connection', async () => {
  const url = await begin();
  const response = await send(url, '/v1/audio/transcriptions', form({ response_format: 'text' }));
  gate.fail(new Error('a fault'));
  await expect(response.text()).rejects.toThrow();
  await until(() => server!.running === 0);
  expect(server!.running).toBe(0);
});

test('a client that leaves between signs of life ends the request', async () => {
  const url = await begin();
  for (const body of [
    { prompt: 'hi', max_tokens: 2 },
    { prompt: 'hi', max_tokens: 2, stream: true },
  ]) {
    const response = await send(url, '/v1/completions', body);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  }
  gate.open();
  await until(() => server!.running === 0 && loaded.demo.freeBlocks === loaded.demo.stats().blocks);
  expect([server!.running, loaded.demo.freeBlocks]).toEqual([0, loaded.demo.stats().blocks]);
});

describe('clients skip the signs of life', () => {
  test('openai', async () => {
    const url = await begin(2);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
    const ask = { model: 'demo', messages: [{ role: 'user' as const, content: 'hi' }], max_tokens: 4 };
    setTimeout(() => gate.open(), 50);
    const [whole, stream] = await Promise.all([
      client.chat.completions.create({ ...ask, temperature: 0 }),
      client.chat.completions.create({ ...ask, temperature: 0, stream: true }),
    ]);
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect(text).toBe(whole.choices[0]!.message.content);
  });

  test('Anthropic', async () => {
    const url = await begin(2);
    const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 });
    const ask = { model: 'demo', messages: [{ role: 'user' as const, content: 'hi' }], max_tokens: 4 };
    setTimeout(() => gate.open(), 50);
    const [streamed, whole] = await Promise.all([
      client.messages.stream(ask).finalMessage(),
      client.messages.create(ask),
    ]);
    for (const { content } of [streamed, whole]) expect(content).toMatchObject([{ type: 'text' }]);
  });
});
