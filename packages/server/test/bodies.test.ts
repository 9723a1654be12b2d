// Bodies of requests: late, slow, large, and too many at a time.
import { connect, type Socket } from 'node:net';
import type { Model } from '@quern/runtime';
import { collectGarbage } from '../../runtime/test/collect-garbage.js';
import { Bodies } from '../src/body-limit.js';
import { ApiError } from '../src/errors.js';
import { createHandler, type Handler, type RunningServer } from '../src/index.js';
import { Gate, gated } from './gated.js';
import { json, loadDemo, post, serving, until } from './serving.js';

const { jest } = import.meta;

let model: Model;
beforeAll(async () => {
  model = await loadDemo(2);
});
afterAll(() => model.dispose());

interface Sent {
  readonly socket: Socket;
  readonly rest: string;
  /** All that came, when the connection has ended. */
  readonly answer: Promise<string>;
  /** What came so far. */
  text(): string;
}

/** A request whose body is half sent. */
async function halfSent(server: RunningServer, path = '/v1/completions'): Promise<Sent> {
  const body = JSON.stringify({ prompt: 'Once', max_tokens: 3, temperature: 0 });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const head = [`POST ${path} HTTP/1.1`, 'host: localhost', 'content-type: application/json'];
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  const ended = new Promise<string>((resolve) => socket.on('close', () => resolve(answer)));
  await new Promise((resolve) => {
    const text = `${[...head, `content-length: ${body.length}`].join('\r\n')}\r\n\r\n${body.slice(0, 9)}`;
    socket.write(text, resolve);
  });
  return { socket, rest: body.slice(9), answer: ended, text: () => answer };
}

test('bodies that do not come hold no room, and others are answered', async () => {
  const server = await serving(model, { requests: 1 });
  const sent = [await halfSent(server), await halfSent(server), await halfSent(server)];
  const answered = await post(`${server.url}/v1/completions`, { prompt: 'Once', max_tokens: 1 });
  expect([answered.status, server.running]).toEqual([200, 0]);
  sent[0]!.socket.write(sent[0]!.rest);
  await until(() => sent[0]!.text().includes('"completion_tokens"'), 10_000);
  expect(sent[0]!.text()).toMatch(/^HTTP\/1\.1 200.*"completion_tokens":3/s);
  for (const { socket } of sent) socket.destroy();
  await server.close();
});

test('a body of which nothing comes: 408 in the form of the route, and the connection ends', async () => {
  const lines: object[] = [];
  const server = await serving(model, { bodyMs: 20, log: (entry) => lines.push(entry) });
  const completion = await (await halfSent(server)).answer;
  expect(completion).toMatch(/^HTTP\/1\.1 408.*connection: close.*"code":"body_timeout"/is);
  const message = await (await halfSent(server, '/v1/messages')).answer;
  expect(message).toMatch(/^HTTP\/1\.1 408.*"type":"error".*only 9 bytes of the body came in \d+ ms/s);
  await until(() => lines.length === 2);
  expect(lines).toMatchObject([{ status: 408 }, { status: 408 }]);
  await server.close();
});

/** A body of chunks; where there are no more it ends, or stops. */
function chunked(chunks: Iterable<Uint8Array>, { ends = true, ms = 0 } = {}): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.iterator]();
  return new ReadableStream({
    async pull(controller) {
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
      const { done, value } = iterator.next();
      if (!done) return controller.enqueue(value);
      if (ends) return controller.close();
      return new Promise(() => {});
    },
  });
}

const headers = { 'content-type': 'application/json' };
const requestOf = (body: ReadableStream | string): Request =>
  new Request('http://x/v1/completions', { method: 'POST', headers, body, duplex: 'half' } as RequestInit);

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);
const small = JSON.stringify({ prompt: 'Once', max_tokens: 1 });

async function statusOf(handler: Handler, body: ReadableStream | string) {
  const response = await handler.fetch(requestOf(body));
  const { error } = await json(response);
  return [response.status, error?.code];
}

function* bytes(): Generator<Uint8Array> {
  for (;;) yield encoded(' ');
}

test('a body that trickles: 408', async () => {
  const handler = createHandler({ models: { demo: model }, bodyMs: 100 });
  expect(await statusOf(handler, chunked(bytes(), { ms: 2 }))).toEqual([408, 'body_timeout']);
});

test('a large body that comes slowly is not cut', async () => {
  const handler = createHandler({ models: { demo: model }, bodyMs: 1000 });
  const parts = [...Array.from({ length: 20 }, () => encoded(' '.repeat(1 << 15))), encoded(small)];
  expect(await statusOf(handler, chunked(parts, { ms: 60 }))).toEqual([200, undefined]);
});

test('many half bodies: those of which nothing has come for the longest time end, and others are answered', async () => {
  const handler = createHandler({ models: { demo: model }, totalBodyBytes: 10_000, bodyMs: 600_000 });
  const half = () => statusOf(handler, chunked([encoded(' '.repeat(3000))], { ends: false }));
  const begun: (unknown[] | undefined)[] = [];
  for (let i = 0; i < 6; i++) void half().then((end) => (begun[i] = end));
  await until(() => begun.filter(Boolean).length === 3);
  const refused = [429, 'too_many_bytes'];
  expect(begun).toEqual([refused, refused, refused]);
  expect(await statusOf(handler, small)).toEqual([200, undefined]);
  expect(await statusOf(handler, chunked([encoded(small.padEnd(3000))]))).toEqual([200, undefined]);
  await handler.drain();
});

test('a body larger than all may be: 413', async () => {
  const handler = createHandler({ models: { demo: model }, totalBodyBytes: 1000 });
  const parts = Array.from({ length: 3 }, () => encoded(' '.repeat(500)));
  expect(await statusOf(handler, chunked(parts))).toEqual([413, 'body_too_large']);
});

test('the bodies of requests that run count too, until they end', async () => {
  const gate = new Gate();
  const waiting = Object.assign(Object.create(model) as Model, {
    generate: (...args: Parameters<Model['generate']>) => gated(() => model.generate(...args), gate, 0),
  });
  const handler = createHandler({ models: { demo: waiting }, totalBodyBytes: 1000 });
  const running = statusOf(handler, small.padEnd(600));
  await until(() => handler.running === 1);
  expect(await statusOf(handler, small.padEnd(600))).toEqual([429, 'too_many_bytes']);
  gate.open();
  expect(await running).toEqual([200, undefined]);
  await until(() => handler.running === 0);
  expect(await statusOf(handler, small.padEnd(600))).toEqual([200, undefined]);
});

/** Bodies alone, for what a response does not show. */
const bodies = () => {
  const closing = new AbortController().signal;
  return { closing, all: new Bodies({ ms: 600_000, total: 1 << 20, closing }) };
};

test('a body of many chunks leaves no reactions on a promise, and no listeners', async () => {
  const { all, closing } = bodies();
  const body = chunked(Array.from({ length: 1000 }, () => encoded('x')));
  const then = jest.spyOn(Promise.prototype, 'then');
  const listen = jest.spyOn(closing, 'addEventListener');
  const request = await all.open(1000).readOf(requestOf(body));
  const reactions = new Map<unknown, number>();
  for (const promise of then.mock.contexts) reactions.set(promise, (reactions.get(promise) ?? 0) + 1);
  const listeners = listen.mock.calls.length;
  then.mockRestore();
  expect(await request.text()).toBe('x'.repeat(1000));
  expect(reactions.size).toBeGreaterThan(0); // it saw the reads
  expect(Math.max(...reactions.values())).toBeLessThanOrEqual(2);
  expect(listeners).toBeLessThanOrEqual(1);
});

test('a body holds its bytes, not its chunks', async () => {
  let collected = 0;
  const registry = new FinalizationRegistry(() => collected++);
  function* made() {
    for (let i = 0; i < 100; i++) {
      const chunk = encoded('x');
      registry.register(chunk, undefined);
      yield chunk;
    }
  }
  const body = bodies().all.open(1000);
  const failed = expect(body.readOf(requestOf(chunked(made(), { ends: false })))).rejects.toThrow('over');
  await collectGarbage(() => collected > 90, 20);
  body.fail(new ApiError(408, 'over'));
  await failed;
  expect(collected).toBeGreaterThan(90);
});

test('a server that closes ends connections without a body at once', async () => {
  const server = await serving(model);
  const { answer } = await halfSent(server);
  await server.close();
  expect(await answer).toMatch(/^(HTTP\/1\.1 503.*"code":"shutting_down".*)?$/s);
});

test('a handler that drains refuses bodies that have not come', async () => {
  const handler = createHandler({ models: { demo: model } });
  const asked = statusOf(handler, new ReadableStream());
  await handler.drain();
  expect(await asked).toEqual([503, 'shutting_down']);
});

test('bodies that are too large, with and without a length', async () => {
  const server = await serving(model, { bodyBytes: 1000 });
  const url = `${server.url}/v1/chat/completions`;
  const text = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(2000) }] });
  const counted = await post(url, text);
  const parts = chunked([encoded(text)]);
  const uncounted = await fetch(url, { method: 'POST', headers, body: parts, duplex: 'half' } as RequestInit);
  for (const response of [counted, uncounted])
    expect([response.status, (await json(response)).error.code]).toEqual([413, 'body_too_large']);
  await server.close();
});

test.each(['gzip', 'br', 'deflate, gzip'])('a body in %s: 415', async (encoding) => {
  const server = await serving(model);
  const headers = { 'content-encoding': encoding };
  const refused = await post(`${server.url}/v1/completions`, { prompt: 'Once' }, headers);
  const { error } = await json(refused);
  expect([refused.status, error.code]).toEqual([415, 'bad_content_encoding']);
  expect(error.message).toContain(`content-encoding: ${encoding}`);
  const identity = { 'content-encoding': 'Identity' };
  const plain = await post(`${server.url}/v1/completions`, { prompt: 'Once', max_tokens: 1 }, identity);
  expect(plain.status).toBe(200);
  await server.close();
});
