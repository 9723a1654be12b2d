import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelName, namedPaths } from '../src/serve/model-name.js';
import { quern, start } from './cli.js';

/** A port that is free now. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' ? address!.port : 0;
      server.close(() => resolve(port));
    });
  });

async function untilReady(url: string, wanted = 200): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const isReady = await fetch(`${url}/ready`).then(
      ({ status }) => status === wanted,
      () => false,
    );
    if (isReady) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${url}/ready does not answer with ${wanted}`);
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  'serve answers, and ends a running request after %s',
  async (signal) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const flags = ['--alias', 'gpt-4o=second', '--any-model', '--port', String(port), '--api-key', 'secret'];
    const server = start(['serve', 'demo', 'second=demo', ...flags]);
    await untilReady(url);
    const headers = { 'content-type': 'application/json', authorization: 'Bearer secret' };
    const models = (await (await fetch(`${url}/v1/models`, { headers })).json()) as {
      data: { id: string }[];
    };
    expect(models.data.map(({ id }) => id)).toEqual(['demo', 'second', 'gpt-4o']);
    expect((await fetch(`${url}/v1/models`)).status).toBe(401);
    const body = {
      model: 'second',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 400,
      ignore_eos: true,
      stream: true,
    };
    const post = (more: object) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...body, ...more }),
      });
    for (const model of ['gpt-4o', 'no-such-model'])
      expect((await post({ model, max_tokens: 1, stream: false })).status).toBe(200);
    const response = await post({});
    server.kill(signal);
    expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
    const { code, stdout, stderr } = await server.finished;
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain(`demo, second: listening on ${url}`);
    expect(stderr).toMatch(
      /^demo: context \d+: all that the model was trained for; \d+ tokens for all sequences together$/m,
    );
    expect(stderr).toMatch(/\{"time":.*"path":"\/v1\/chat\/completions","status":200/);
  },
  120_000,
);

test.each([['--lookup'], ['--draft', 'demo']])(
  'serve %s: the text without drafts',
  async (...flags) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = start(['serve', 'demo', '--port', String(port), '--no-log', ...flags]);
    await untilReady(url);
    const prompt = 'The hare ran home. The hare ran home. The hare';
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: prompt }], max_tokens: 24, temperature: 0 }),
    });
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    server.kill('SIGTERM');
    expect((await server.finished).code).toBe(0);
    const alone = await quern(['run', 'demo', '-p', prompt, '-n', '24', '--temperature', '0', '--json']);
    expect(choices[0]!.message.content).toBe(JSON.parse(alone.stdout).text);
  },
  120_000,
);

test('serve --stored-answers 1 keeps the last answer, --stored-answer-bytes 1 none', async () => {
  const kept: boolean[][] = [];
  for (const flag of ['--stored-answers', '--stored-answer-bytes']) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = start(['serve', 'demo', '--port', String(port), '--no-log', flag, '1']);
    await untilReady(url);
    const create = async () => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ input: 'Hi', max_output_tokens: 1 });
      const response = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body });
      return ((await response.json()) as { id: string }).id;
    };
    const ids = [await create(), await create()];
    kept.push(await Promise.all(ids.map(async (id) => (await fetch(`${url}/v1/responses/${id}`)).ok)));
    server.kill('SIGTERM');
    expect((await server.finished).code).toBe(0);
  }
  expect(kept).toEqual([
    [false, true],
    [false, false],
  ]);
}, 120_000);

test('faults end serve with one message', async () => {
  const port = await freePort();
  const holder = createServer().listen(port, '127.0.0.1');
  const taken = await quern(['serve', 'demo', '--port', String(port)]);
  holder.close();
  expect([taken.code, taken.stdout]).toEqual([1, '']);
  expect(taken.stderr).toContain(`port ${port} of 127.0.0.1 is taken: choose another one with --port`);
  expect((await quern(['serve', 'nosuch'])).stderr).toMatch(/nosuch/);
  expect((await quern(['serve', 'demo', '--draft-max', '3'])).stderr).toMatch(/give --lookup or --draft/);
  expect((await quern(['serve', 'demo', '--port', 'x'])).stderr).toMatch(/whole number/);
}, 120_000);

test.each([
  [['--api-key='], /--api-key must be a key, not empty/],
  [['--api-key', 'good', '--api-key', ''], /--api-key must be a key, not empty/],
  [['--adapter', 'a=x', '--adapter', 'a=y'], /there is an adapter 'a' already/],
  [['--adapter', '/x/poet', '--adapter', '/y/poet.gguf'], /there is an adapter 'poet' already/],
  [['--adapter-folder', '/no/such/folder'], /there is no folder \/no\/such\/folder/],
  [['--adapter-folder', process.execPath], /there is no folder/],
  [['--cors', 'foo'], /--cors is foo; it must be '\*' or an origin: scheme:\/\/host/],
  [
    ['--cors', 'https://x.org', '--cors', 'https://y.org/page'],
    /--cors is https:\/\/y.org\/page; it must be/,
  ],
  [['--cors-origin', 'foo'], /--cors is foo; it must be '\*' or an origin/],
  [
    ['--allowed-hosts', 'https://x.org'],
    /--allowed-hosts is https:\/\/x.org; it must be '\*' or a name or address/,
  ],
  [['--allowed-hosts', 'x.org,y.org:80'], /--allowed-hosts is y.org:80; it must be/],
  [['--alias', 'a=none'], /--alias is 'a=none'; it must be NAME=MODEL, .* models: demo/],
  [['--alias', 'demo'], /--alias is 'demo'; it must be NAME=MODEL, with a new name/],
  [['--alias', 'a', '--alias', 'a=demo'], /--alias gives the name 'a' twice/],
  [['--metrics-prefix', '1 a'], /--metrics-prefix is 1 a; it must be letters/],
  [['--port', '99999'], /it must be a whole number from 0 to 65535/],
  [['--request-timeout', '9999999'], /it must be a whole number from 1 to 2147483/],
])('serve %j is a usage error', async (flags, says) => {
  const { code, stdout, stderr } = await quern(['serve', 'demo', ...flags]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^error: /);
  expect(stderr).toMatch(says);
});

test('--cors-origin, its old name --cors, and --allowed-hosts', async () => {
  const port = await freePort();
  const allowed = ['--cors-origin', 'https://a.example', '--cors', 'https://b.example'];
  const hosts = ['--allowed-hosts', 'a.example,b.example', '--allowed-hosts', '.c.example'];
  const server = start(['serve', 'demo', '--port', String(port), '--no-log', ...allowed, ...hosts]);
  await untilReady(`http://127.0.0.1:${port}`);
  const statusOf = (headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', path: '/v1/models', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  const origins = ['https://a.example', 'https://b.example', 'https://c.example'];
  const names = ['a.example', 'b.example:8080', 'x.c.example', 'd.example'];
  expect(await Promise.all(origins.map((origin) => statusOf({ origin })))).toEqual([200, 200, 403]);
  expect(await Promise.all(names.map((host) => statusOf({ host })))).toEqual([200, 200, 200, 403]);
  server.kill('SIGTERM');
  expect((await server.finished).code).toBe(0);
}, 120_000);

test('while requests run after SIGTERM, /ready is 503; a second SIGTERM ends at once', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = start(['serve', 'demo', '--port', String(port), '--no-log']);
  await untilReady(url);
  const prompt = Array.from({ length: 256 }, (_, i) => `Text ${i}`);
  const body = JSON.stringify({ prompt, n: 8, max_tokens: 400, ignore_eos: true, stream: true });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body }); // minutes of work
  server.kill('SIGTERM');
  await untilReady(url, 503);
  server.kill('SIGTERM');
  const { code, stderr } = await server.finished;
  expect(code).toBe(143);
  expect(stderr).toContain('waiting for 1 running request\n');
  await expect(response.text()).rejects.toThrow(); // cut
}, 120_000);

test('keys of a file and of the environment; several addresses; no page; a prefix', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-keys-'));
  const path = join(folder, 'keys');
  writeFileSync(path, '# ours\r\n\n  first \nsecond\n');
  const port = await freePort();
  const hosts = process.platform === 'darwin' ? ['127.0.0.1'] : ['127.0.0.1', '127.0.0.2'];
  const flags = ['--port', String(port), ...hosts.flatMap((host) => ['--host', host]), '--no-page'];
  const server = start(
    ['serve', 'demo', ...flags, '--api-key-file', path, '--metrics-prefix', 'vllm:', '--no-log'],
    '',
    { env: { QUERN_API_KEY: 'third' } },
  );
  const urls = hosts.map((host) => `http://${host}:${port}`);
  for (const url of urls) await untilReady(url);
  const get = (key: string, at = '/metrics') =>
    fetch(urls.at(-1) + at, { headers: { authorization: `Bearer ${key}`, accept: 'text/html' } });
  for (const key of ['first', 'second', 'third']) expect((await get(key)).status).toBe(200);
  for (const key of ['# ours', 'fourth']) expect((await get(key)).status).toBe(401);
  expect(await (await get('first')).text()).toContain('vllm:num_requests_running');
  expect(await (await get('first', '/')).text()).toBe('Ollama is running');
  server.kill('SIGTERM');
  const { stderr } = await server.finished;
  expect(stderr).toContain(`listening on ${urls.join(', ')}`);
  rmSync(folder, { recursive: true });
}, 120_000);

test('a key file that is wrong: no word of it is shown', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-keys-'));
  const path = join(folder, 'keys');
  writeFileSync(path, '# s3cret\n\n');
  const of = (file: string) => quern(['serve', 'demo', '--api-key-file', file]);
  const empty = await of(path);
  expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('the file has no key')]);
  expect(empty.stderr).not.toContain('s3cret');
  expect((await of(join(folder, 'none'))).stderr).toContain('there is no such file');
  expect((await of(folder)).stderr).toMatch(/cannot be read \(EISDIR\)/);
  const spaced = await quern(['serve', 'demo'], '', { env: { QUERN_API_KEY: ' s3cret' } });
  expect(spaced.stderr).toMatch(/^error: QUERN_API_KEY must be a key/);
  expect(spaced.stderr).not.toContain('s3cret');
  rmSync(folder, { recursive: true });
});

test('names of models', () => {
  expect(modelName('/models/Qwen3-0.6B.GGUF', {})).toBe('Qwen3-0.6B');
  expect(modelName('demo', { demo: 1, 'demo-2': 1 })).toBe('demo-3');
});

describe('name=path', () => {
  const fault = (message: string): never => {
    throw new Error(message);
  };

  test('names, and names of files beside them', () => {
    expect(namedPaths(['a/b=x/y=z.gguf', 'demo', 'demo', 'demo=other.gguf'], fault)).toEqual([
      { name: 'a/b', path: 'x/y=z.gguf' },
      { name: 'demo-2', path: 'demo' },
      { name: 'demo-3', path: 'demo' },
      { name: 'demo', path: 'other.gguf' },
    ]);
  });

  test('a file whose name has an equals sign is a path', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quern-serve-'));
    const path = join(folder, 'a=b.gguf');
    writeFileSync(path, '');
    expect(namedPaths([path], fault)).toEqual([{ name: 'a=b', path }]);
    rmSync(folder, { recursive: true });
  });

  test('a name twice is a usage error', async () => {
    expect(() => namedPaths(['a=x', 'a=y'], fault)).toThrow("two models are named 'a'");
    const { code, stderr } = await quern(['serve', 'a=demo', 'a=demo']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: two models are named 'a'/)]);
  });
});
