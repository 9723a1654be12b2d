// Sockets that no well-behaved client has: half-closed, half-sent, and very many.
import { execSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Model } from '@quern/runtime';
import type { RunningServer } from '../src/index.js';
import { raw } from './raw.js';
import { loadDemo, post, serving, until } from './serving.js';

let model: Model;
let server: RunningServer;
let port: number;
beforeAll(async () => {
  model = await loadDemo(2);
  server = await serving(model);
  port = Number(new URL(server.url).port);
});
afterAll(async () => {
  await server.close();
  model.dispose();
});

const body = JSON.stringify({ prompt: 'Once', max_tokens: 40, temperature: 0, ignore_eos: true });
const head = [
  'POST /v1/completions HTTP/1.1',
  'host: 127.0.0.1',
  'content-type: application/json',
  `content-length: ${body.length}`,
  '',
  '',
].join('\r\n');

const opened = async (): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
};

/** Nothing is held, and others are answered. */
async function needUnharmed(): Promise<void> {
  await until(() => model.freeBlocks === model.stats().blocks && server.running === 0);
  expect([model.freeBlocks, server.running]).toEqual([model.stats().blocks, 0]);
  const anew = { connection: 'close' }; // a kept connection may be closed by the server while fetch takes it
  expect((await post(`${server.url}/v1/completions`, body, anew)).status).toBe(200);
}

test('a client that closes its half after the request gets the answer, or frees all', async () => {
  const socket = await opened();
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  socket.end(head + body);
  await once(socket, 'close');
  expect(answer === '' || /^HTTP\/1\.1 200/.test(answer)).toBe(true);
  await needUnharmed();
});

test.each([
  ['nothing', ''],
  ['half a head', head.slice(0, 30)],
  ['a head and half a body', head + body.slice(0, 20)],
  ['no HTTP', '\0\x01\x02 \r\n\r\n'],
])('a client that sends %s and goes', async (_, text) => {
  for (const end of ['end', 'destroy'] as const) {
    const socket = await opened();
    socket.resume();
    socket.write(text);
    await new Promise((resolve) => setTimeout(resolve, 10));
    socket[end]();
    await until(() => socket.destroyed || socket.readableEnded, 2000);
    socket.destroy();
  }
  await needUnharmed();
});

test('10,000 headers get status 431', async () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `x-${i}: 1`);
  const large = await raw(port, ['GET /v1/models HTTP/1.1', 'host: 127.0.0.1', ...names]);
  expect(large.status).toBe(431);
  await needUnharmed();
});

/** Open files that a process may have. */
const mostFiles = Number(execSync('ulimit -n', { shell: '/bin/sh' })) || Number.POSITIVE_INFINITY;
const [many, spare] = [10_000, 1000];
const ifAllowed = mostFiles >= many + spare ? test : test.skip;
if (mostFiles < many + spare) console.warn(`skipped: a process may open ${mostFiles} files, not ${many}`);

ifAllowed(
  '10,000 open connections: others are answered',
  async () => {
    const script = fileURLToPath(new URL('hold-connections.mjs', import.meta.url));
    const client = spawn(process.execPath, [script, String(port), String(many)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [told] = await once(client.stdout, 'data');
    expect(Number(told)).toBe(many);
    await needUnharmed();
    client.stdin.end();
    await once(client, 'exit');
    await needUnharmed();
  },
  120_000,
);
