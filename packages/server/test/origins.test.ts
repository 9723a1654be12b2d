// Which pages may call: none of another origin, on any route, by any request that a browser sends.
import type { Model } from '@quern/runtime';
import { createHandler, type RunningServer, type ServeOptions } from '../src/index.js';
import { type RawAnswer, raw } from './raw.js';
import { json, loadDemo, serving, until } from './serving.js';

let model: Model;
let server: RunningServer;
const servers: RunningServer[] = [];
const begin = async (options: Partial<ServeOptions>): Promise<RunningServer> => {
  const begun = await serving(model, options);
  servers.push(begun);
  return begun;
};
const lines: Readonly<Record<string, unknown>>[] = [];
beforeAll(async () => {
  model = await loadDemo(2);
  server = await begin({ adapterFolder: '/', log: (entry) => lines.push(entry) });
});
afterAll(async () => {
  for (const each of servers) await each.close();
  model.dispose();
});

const portOf = ({ url }: RunningServer): number => Number(new URL(url).port);

type Fields = Readonly<Record<string, string>>;

function send(to: RunningServer, line: string, fields: Fields, body = ''): Promise<RawAnswer> {
  const all = { host: `localhost:${portOf(to)}`, 'content-length': String(body.length), ...fields };
  return raw(
    portOf(to),
    [`${line} HTTP/1.1`, ...Object.entries(all).map(([name, text]) => `${name}: ${text}`)],
    body,
  );
}

const codeOf = ({ status, body }: RawAnswer): readonly [number, string | undefined] => {
  const { error } = status >= 400 && body.startsWith('{') ? JSON.parse(body) : { error: undefined };
  return [status, error?.code];
};

const multipart = 'multipart/form-data; boundary=b';
const form = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\r\n--b--\r\n';
const ask = JSON.stringify({ model: 'demo', prompt: 'Once', max_tokens: 1 });

const jsonRoutes = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/v1/rerank',
  '/tokenize',
  '/detokenize',
  '/v1/load_lora_adapter',
  '/v1/unload_lora_adapter',
];
const audioRoutes = ['/v1/audio/transcriptions', '/v1/audio/translations'];
const types = [
  'text/plain',
  'text/plain;charset=UTF-8',
  'text/plain;application/json',
  'application/x-www-form-urlencoded',
  multipart,
  'application/json',
  undefined,
];
/** What the browser says of a page elsewhere. */
const foreign: readonly Fields[] = [
  { origin: 'https://evil.example' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  { origin: 'http://localhost:3', 'sec-fetch-site': 'same-site' },
  { origin: 'http://localhost' },
  { origin: 'null' },
  { origin: 'null', 'sec-fetch-site': 'cross-site' },
  { origin: 'chrome-extension://abcdef' },
  { origin: 'file://' },
];

test.each([...jsonRoutes, ...audioRoutes])(
  'POST %s of a page elsewhere: 403, in the form of the route',
  async (path) => {
    for (const page of foreign)
      for (const type of types) {
        const { status, headers, body } = await send(
          server,
          `POST ${path}`,
          { ...page, ...(type && { 'content-type': type }) },
          form,
        );
        const { error } = JSON.parse(body);
        expect([page, type, status, error.type]).toEqual([page, type, 403, 'permission_error']);
        expect(error.message).toContain('--cors-origin');
        expect(headers).not.toContain('access-control');
        if (!path.startsWith('/v1/messages')) expect(error.code).toBe('origin_not_allowed');
      }
    expect(server.running).toBe(0);
  },
);

test.each(['/', '/health', '/ready', '/metrics', '/v1/models', '/v1/models/demo'])(
  'GET %s of a page elsewhere: 403; a link to it, or a program: 200',
  async (path) => {
    for (const page of foreign) expect((await send(server, `GET ${path}`, page)).status).toBe(403);
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    for (const own of [link, {}]) expect((await send(server, `GET ${path}`, own)).status).toBe(200);
  },
);

test('the message says which option allows the page', async () => {
  const messageOf = async (origin: string): Promise<string> =>
    JSON.parse((await send(server, 'GET /v1/models', { origin })).body).error.message;
  expect(await messageOf('https://a.example')).toBe(
    'pages of https://a.example may not call this server: allow them with cors (quern serve --cors-origin https://a.example)',
  );
  expect(await messageOf('null')).toMatch(
    /^pages without an origin \(local files.*only cors '\*' allows them/,
  );
  await until(() => lines.some(({ error }) => String(error).includes('a.example')));
  expect(lines).toContainEqual(
    expect.objectContaining({
      method: 'GET',
      path: '/v1/models',
      status: 403,
      error: await messageOf('https://a.example'),
    }),
  );
});

test('preflights of pages elsewhere get no CORS headers', async () => {
  const asks = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' };
  const allowing = await begin({ cors: 'https://good.example' });
  const keyed = await begin({ cors: 'https://good.example', apiKeys: ['secret'] });
  for (const to of [server, allowing, keyed])
    for (const page of foreign) {
      const more = { 'access-control-request-private-network': 'true' };
      const answer = await send(to, 'OPTIONS /v1/completions', { ...asks, ...page, ...more });
      expect(codeOf(answer)).toEqual([403, 'origin_not_allowed']);
      expect(answer.headers).not.toContain('access-control');
    }
  const { headers, status } = await send(allowing, 'OPTIONS /v1/completions', {
    ...asks,
    origin: 'https://good.example',
  });
  expect(status).toBe(204);
  expect(headers).toContain('access-control-allow-origin: https://good.example');
  expect(headers).toContain('access-control-allow-headers: content-type');
  expect(headers).not.toContain('private-network');
});

test.each([['https://good.example'], [['http://other.example', 'https://good.example']], ['*']])(
  'cors %j: the page reads answers, and reaches a private network',
  async (cors) => {
    const allowing = await begin({ cors });
    const page = { origin: 'https://good.example', 'sec-fetch-site': 'cross-site' };
    const type = { 'content-type': 'application/json' };
    const answer = await send(allowing, 'POST /v1/completions', { ...page, ...type }, ask);
    const allowed = `access-control-allow-origin: ${cors === '*' ? '*' : page.origin}`;
    expect([answer.status, answer.headers]).toEqual([200, expect.stringContaining(allowed)]);
    const asks = {
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    };
    const { headers } = await send(allowing, 'OPTIONS /v1/completions', { ...page, ...asks });
    expect(headers).toContain('access-control-allow-private-network: true');
    expect(
      codeOf(
        await send(allowing, 'POST /v1/audio/transcriptions', { ...page, 'content-type': multipart }, form),
      ),
    ).toEqual([400, 'missing']);
    const evil = await send(
      allowing,
      'POST /v1/completions',
      { origin: 'https://evil.example', ...type },
      ask,
    );
    expect(evil.status).toBe(cors === '*' ? 200 : 403);
  },
);

test("the server's own page, by each of its names, and behind proxies", async () => {
  const port = portOf(server);
  const type = { 'content-type': 'application/json' };
  const own: readonly Fields[] = [
    { host: `localhost:${port}`, origin: `http://localhost:${port}` },
    { host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' },
    { host: `[::1]:${port}`, origin: `http://[::1]:${port}` },
    { host: `LOCALHOST:${port}`, origin: `http://localhost:${port}` },
    { host: 'localhost', origin: 'http://localhost' },
    { host: 'chat.localhost', origin: 'https://chat.localhost' }, // a proxy ended TLS
    { host: `127.0.0.1:${port}`, origin: 'https://quern.example', 'sec-fetch-site': 'same-origin' }, // it changed Host
  ];
  for (const page of own) {
    expect([page, (await send(server, 'POST /v1/completions', { ...page, ...type }, ask)).status]).toEqual([
      page,
      200,
    ]);
    expect(
      codeOf(
        await send(server, 'POST /v1/audio/transcriptions', { ...page, 'content-type': multipart }, form),
      ),
    ).toEqual([400, 'missing']);
  }
});

test('a rebound name is refused though the page has its origin', async () => {
  const page = {
    host: 'attacker.example',
    origin: 'http://attacker.example',
    'sec-fetch-site': 'same-origin',
  };
  const answer = await send(
    server,
    'POST /v1/completions',
    { ...page, 'content-type': 'application/json' },
    ask,
  );
  expect(codeOf(answer)).toEqual([403, 'host_not_allowed']);
});

test('a form that a browser sends without Origin', async () => {
  for (const site of ['cross-site', 'same-site'])
    for (const path of audioRoutes)
      expect(
        codeOf(
          await send(server, `POST ${path}`, { 'sec-fetch-site': site, 'content-type': multipart }, form),
        ),
      ).toEqual([403, 'origin_not_allowed']);
});

test('a key protects: with it any client is answered, without it none', async () => {
  const keyed = await begin({ apiKeys: ['secret'] });
  const page = { origin: 'https://evil.example', 'content-type': 'application/json' };
  expect((await send(keyed, 'POST /v1/completions', page, ask)).status).toBe(401);
  const withKey = { ...page, authorization: 'Bearer secret' };
  const { status, headers } = await send(keyed, 'POST /v1/completions', withKey, ask);
  expect([status, headers.includes('access-control')]).toEqual([200, false]);
});

const handled = async (options: Partial<ServeOptions>, path: string, type: string, body: string) => {
  const { fetch } = createHandler({ models: { demo: model }, ...options });
  const headers = { host: 'app.example', origin: 'https://front.example', 'content-type': type };
  const response = await fetch(new Request(`http://app.example${path}`, { method: 'POST', headers, body }));
  return [response.status, (await json(response)).error?.code];
};

test('a mounted handler leaves JSON to the application, and refuses forms of other origins', async () => {
  const json_ = (options: Partial<ServeOptions>) =>
    handled(options, '/v1/completions', 'application/json', ask);
  const form_ = (options: Partial<ServeOptions>) =>
    handled(options, '/v1/audio/transcriptions', multipart, form);
  expect([await json_({}), await form_({})]).toEqual([
    [200, undefined],
    [403, 'origin_not_allowed'],
  ]);
  const checked = { allowedHosts: 'app.example' };
  expect([await json_(checked), await form_(checked)]).toEqual([
    [403, 'origin_not_allowed'],
    [403, 'origin_not_allowed'],
  ]);
  const allowed = { ...checked, cors: 'https://front.example' };
  expect([await json_(allowed), await form_(allowed)]).toEqual([
    [200, undefined],
    [400, 'missing'],
  ]);
});
