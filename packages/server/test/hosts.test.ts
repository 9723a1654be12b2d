// Which names of the server are answered: a page whose name was rebound to this machine has its origin, not its name.
import { hostname } from 'node:os';
import type { Model } from '@quern/runtime';
import { createHandler, type RunningServer, type ServeOptions } from '../src/index.js';
import { raw } from './raw.js';
import { loadDemo, serving } from './serving.js';

let model: Model;
let local: RunningServer;
let open: RunningServer;
const servers: RunningServer[] = [];
const begin = async (options: Partial<ServeOptions> = {}): Promise<RunningServer> => {
  const begun = await serving(model, options);
  servers.push(begun);
  return begun;
};
beforeAll(async () => {
  model = await loadDemo(2);
  local = await begin();
  open = await begin({ host: '0.0.0.0' });
});
afterAll(async () => {
  for (const each of servers) await each.close();
  model.dispose();
});

const portOf = ({ url }: RunningServer): number => Number(new URL(url).port);

const get = (server: RunningServer, host: string, path = '/v1/models') =>
  raw(portOf(server), [`GET ${path} HTTP/1.1`, `host: ${host}`]);

const statusOf = async (server: RunningServer, host: string) => (await get(server, host)).status;

const loopback = [
  'localhost',
  'localhost:8080',
  'LOCALHOST:80',
  'localhost.',
  'chat.localhost:3000',
  '127.0.0.1',
  '127.0.0.1:1',
  '127.8.9.1',
  '[::1]',
  '[::1]:8080',
  '[::ffff:7f00:1]:8080',
  '0.0.0.0:8080',
];
const foreign = [
  'attacker.example',
  'attacker.example:8080',
  'ATTACKER.example.',
  'localhost.attacker.example',
  'xlocalhost',
  '127.0.0.1.attacker.example',
  '127.0.0.1.nip.io:8080',
  'attacker.example#.localhost',
  'attacker.example/.localhost',
  'localhost@attacker.example',
  '[::1].attacker.example',
];

test.each(loopback)('Host %s is answered', async (host) => {
  expect([await statusOf(local, host), await statusOf(open, host)]).toEqual([200, 200]);
});

test.each(foreign)('Host %s is not', async (host) => {
  for (const server of [local, open]) expect([400, 403]).toContain(await statusOf(server, host));
});

test.each([
  '192.168.1.20:8080',
  '[fd00::20]:8080',
  '10.0.0.1',
  hostname().toUpperCase(),
  `${hostname()}:8080`,
])('Host %s: only where the server listens on the network', async (host) => {
  expect([await statusOf(local, host), await statusOf(open, host)]).toEqual([403, 200]);
});

test('every route is refused, and the message says what allows it', async () => {
  const routes = [
    '/',
    '/page/main.js',
    '/health',
    '/ready',
    '/metrics',
    '/v1/models',
    '/v1/models/demo',
    '/none',
  ];
  for (const path of routes) {
    const { status, body } = await get(local, 'attacker.example:8080', path);
    const { error } = JSON.parse(body);
    expect([path, status, error.type, error.code]).toEqual([
      path,
      403,
      'permission_error',
      'host_not_allowed',
    ]);
    expect(error.message).toBe(
      "the server does not answer to the host 'attacker.example': allow it with allowedHosts (quern serve --allowed-hosts attacker.example)",
    );
  }
  const anthropic = await raw(portOf(local), [
    'POST /v1/messages HTTP/1.1',
    'host: attacker.example',
    'content-length: 0',
  ]);
  expect([anthropic.status, JSON.parse(anthropic.body)]).toEqual([
    403,
    {
      type: 'error',
      error: { type: 'permission_error', message: expect.stringContaining('--allowed-hosts') },
      request_id: expect.stringMatching(/^[\w-]{36}$/),
    },
  ]);
});

test('forwarded hosts do not count', async () => {
  const forwarded = ['x-forwarded-host: localhost', 'forwarded: host=localhost'];
  const lines = ['GET /v1/models HTTP/1.1', 'host: attacker.example', ...forwarded];
  expect((await raw(portOf(local), lines)).status).toBe(403);
  const away = ['GET /v1/models HTTP/1.1', 'host: localhost', 'x-forwarded-host: attacker.example'];
  expect((await raw(portOf(local), away)).status).toBe(200);
});

test('a whole URL in the request line counts as Host does', async () => {
  const status = async (url: string, host: string) =>
    (await raw(portOf(local), [`GET ${url} HTTP/1.1`, `host: ${host}`])).status;
  expect(await status('http://attacker.example/v1/models', '127.0.0.1')).toBe(403);
  expect(await status('http://127.0.0.1/v1/models', 'attacker.example')).toBe(403);
  expect(await status('http://127.0.0.1:8080/v1/models', '127.0.0.1:8080')).toBe(200);
});

test('without Host: HTTP/1.0 is answered, HTTP/1.1 is no HTTP', async () => {
  expect((await raw(portOf(local), ['GET /v1/models HTTP/1.0'])).status).toBe(200);
  expect((await raw(portOf(local), ['GET /v1/models HTTP/1.1'])).status).toBe(400);
});

const withOptions = async (options: Partial<ServeOptions>, hosts: readonly string[]): Promise<number[]> => {
  const server = await begin(options);
  const statuses = [];
  for (const host of hosts) statuses.push(await statusOf(server, host));
  return statuses;
};

test.each([
  ['quern.example', [200, 403, 403, 200]],
  [
    ['Quern.Example', 'chat.quern.example'],
    [200, 200, 403, 200],
  ],
  ['.quern.example', [200, 200, 403, 200]],
  ['.example', [200, 200, 200, 200]],
  ['*', [200, 200, 200, 200]],
  [[], [403, 403, 403, 200]],
] as const)('allowedHosts %j', async (allowedHosts, expected) => {
  const hosts = ['quern.example:8080', 'chat.quern.example', 'attackerquern.example', 'localhost'];
  expect(await withOptions({ allowedHosts }, hosts)).toEqual(expected);
});

test('allowedHosts has addresses too', async () => {
  const allowedHosts = ['192.168.1.20', 'fd00::20', '[fd00::21]'];
  const hosts = ['192.168.1.20:80', '[fd00::20]:80', '[FD00::21]', '192.168.1.21'];
  expect(await withOptions({ allowedHosts }, hosts)).toEqual([200, 200, 200, 403]);
});

test('a server with keys answers to any host, unless allowedHosts is given', async () => {
  const status = async (options: Partial<ServeOptions>) => {
    const server = await begin({ apiKeys: ['secret'], ...options });
    const lines = ['GET /v1/models HTTP/1.1', 'host: quern.example', 'authorization: Bearer secret'];
    return (await raw(portOf(server), lines)).status;
  };
  expect([await status({}), await status({ allowedHosts: [] })]).toEqual([200, 403]);
});

test('a mounted handler answers to any host, unless allowedHosts is given', async () => {
  const status = async (allowedHosts?: string[]) => {
    const { fetch } = createHandler({ models: { demo: model }, allowedHosts });
    const app = { host: 'app.example', origin: 'https://app.example' };
    return (await fetch(new Request('http://app.example/v1/models', { headers: app }))).status;
  };
  expect([await status(), await status([]), await status(['app.example'])]).toEqual([200, 403, 200]);
});
