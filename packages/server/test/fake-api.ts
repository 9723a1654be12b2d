// The page with an API whose answers the test writes: no model, no waiting.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pageFile } from '../src/routes/page.js';

/** One answer: texts of the body as they come. `hold`: it waits until the client leaves; `breaks`: the connection does. */
export interface FakeAnswer {
  readonly status?: number;
  readonly body: readonly string[];
  readonly end?: 'whole' | 'hold' | 'breaks';
}

const sse = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;

export const delta = (content: string): string =>
  sse({ choices: [{ delta: { content }, finish_reason: null }] });

const finish = (reason: string) => sse({ choices: [{ delta: {}, finish_reason: reason }] });

/** A streamed answer to a chat. */
export const told = (content: string, reason = 'stop'): FakeAnswer => ({
  body: [delta(content), finish(reason), 'data: [DONE]\n\n'],
});

export const streamError = (message: string): string => sse({ error: { message, code: 'failed' } });

const models = ['generation', 'embedding', 'speech'].map((kind) => ({
  id: `a-${kind}-model-with-a-long-name`,
  kind,
}));

export interface FakeApi {
  readonly url: string;
  /** Answers by path; each request takes the next one. */
  readonly answers: Record<string, FakeAnswer[]>;
  /** Bodies of the requests to a path, as they came. */
  readonly asked: Record<string, string[]>;
  close(): void;
}

/** Serves the page and the answers. */
export async function fakeApi(): Promise<FakeApi> {
  const answers: Record<string, FakeAnswer[]> = {};
  const asked: Record<string, string[]> = {};
  const server = createServer((request, response) => void answer(request, response));
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url!, 'http://x').pathname;
    if (request.method === 'GET') return send(response, await fileOf(path));
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    asked[path] = [...(asked[path] ?? []), Buffer.concat(parts).toString()];
    const next = answers[path]?.shift();
    return next ? write(response, next) : send(response, new Response('no answer', { status: 500 }));
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, answers, asked, close };
}

async function fileOf(path: string): Promise<Response> {
  if (path === '/v1/models') return Response.json({ data: models });
  if (path === '/metrics') return new Response('quern:generation_tokens_total{model="a"} 12\n');
  return pageFile(path === '/' ? 'index.html' : path.slice('/page/'.length));
}

async function send(response: ServerResponse, value: Response): Promise<void> {
  response.writeHead(value.status, Object.fromEntries(value.headers));
  response.end(Buffer.from(await value.arrayBuffer()));
}

function write(response: ServerResponse, { status = 200, body, end = 'whole' }: FakeAnswer): void {
  response.writeHead(status, { 'content-type': 'text/event-stream' });
  for (const text of body) response.write(text);
  if (end === 'whole') response.end();
  if (end === 'breaks') setTimeout(() => response.destroy(), 50);
}
