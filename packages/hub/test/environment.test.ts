import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { createServer as createTlsServer, request as secureRequest } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Environment, pull } from '@quern/hub';
import { proxyOf } from '../src/http/proxy.js';
import { TunnelAgent } from '../src/http/tunnel.js';
import { settingsOf } from '../src/settings.js';
import { randomBytes } from './fake-hub.js';
import { useHub } from './hub-test.js';

const at = useHub();
const model = randomBytes(120_000, 1);

describe('the cache folder', () => {
  test.each<[Environment, string]>([
    [{}, join(homedir(), '.cache/huggingface/hub')],
    [{ XDG_CACHE_HOME: '/x' }, '/x/huggingface/hub'],
    [{ XDG_CACHE_HOME: '/x', HF_HOME: '/h' }, '/h/hub'],
    [{ HF_HOME: '~/h' }, join(homedir(), 'h/hub')],
    [{ HF_HOME: '/h', HF_HUB_CACHE: '/c' }, '/c'],
    [{ HF_HUB_CACHE: '', HUGGINGFACE_HUB_CACHE: '/old' }, '/old'],
  ])('%j', (env, folder) => {
    expect(settingsOf({ env }).cacheDir).toBe(folder);
  });
});

describe('the token', () => {
  const tokenOf = (env: Environment, token?: string | false) =>
    settingsOf({ env: { HF_HOME: at.cacheDir, ...env }, token }).token;

  test('of the option, of the environment, of the file', () => {
    expect(tokenOf({})).toBeUndefined();
    writeFileSync(join(at.cacheDir, 'token'), 'hf_file\n');
    expect(tokenOf({})).toBe('hf_file');
    expect(tokenOf({ HF_TOKEN: 'hf_env' })).toBe('hf_env');
    expect(tokenOf({ HF_TOKEN: 'hf_env' }, 'hf_option')).toBe('hf_option');
    expect(tokenOf({ HF_TOKEN: 'hf_env' }, false)).toBeUndefined();
    expect(tokenOf({ HF_TOKEN: 'hf_env', HF_HUB_DISABLE_IMPLICIT_TOKEN: '1' })).toBeUndefined();
    writeFileSync(join(at.cacheDir, 'other'), 'hf_other');
    expect(tokenOf({ HF_TOKEN_PATH: join(at.cacheDir, 'other') })).toBe('hf_other');
  });

  test('one that cannot be a header is refused, and not shown', () => {
    for (const token of ['hf_a b', 'hf_a\nx: y', 'hf_ä']) {
      const act = () => tokenOf({ HF_TOKEN: token });
      expect(act).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
      expect(act).not.toThrow(token);
    }
  });
});

test('offline by HF_HUB_OFFLINE', () => {
  for (const value of ['1', 'true', 'YES', 'on'])
    expect(settingsOf({ env: { HF_HUB_OFFLINE: value } }).offline).toBe(true);
  for (const value of ['', '0', 'no', undefined])
    expect(settingsOf({ env: { HF_HUB_OFFLINE: value } }).offline).toBe(false);
  expect(settingsOf({ env: { HF_HUB_OFFLINE: '1' }, offline: false }).offline).toBe(false);
});

test('the endpoint by HF_ENDPOINT', () => {
  expect(settingsOf({ env: {} }).endpoint).toBe('https://huggingface.co');
  expect(settingsOf({ env: { HF_ENDPOINT: 'https://mirror.example/hf/' } }).endpoint).toBe(
    'https://mirror.example/hf',
  );
  for (const endpoint of ['mirror', 'file:///x', 'https://u:secret@x', 'https://x?token=secret'])
    expect(() => settingsOf({ env: {}, endpoint })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  expect(() => settingsOf({ env: {}, endpoint: 'https://u:secret@x' })).not.toThrow('secret');
});

test.each<[Environment, string, string | undefined]>([
  [{ HTTPS_PROXY: 'http://p:1' }, 'https://hub', 'http://p:1/'],
  [{ https_proxy: 'http://small:1', HTTPS_PROXY: 'http://p:1' }, 'https://hub', 'http://small:1/'],
  [{ HTTPS_PROXY: 'http://p:1' }, 'http://hub', undefined],
  [{ HTTP_PROXY: 'p:1' }, 'http://hub', 'http://p:1/'],
  [{ ALL_PROXY: 'https://p' }, 'http://hub', 'https://p/'],
  [{ ALL_PROXY: 'http://p', NO_PROXY: 'other, hub' }, 'http://hub', undefined],
  [{ ALL_PROXY: 'http://p', NO_PROXY: 'hub' }, 'http://cdn.hub', undefined],
  [{ ALL_PROXY: 'http://p', NO_PROXY: '.hub' }, 'http://cdn.hub', undefined],
  [{ ALL_PROXY: 'http://p', NO_PROXY: '*.hub' }, 'http://cdn.hub', undefined],
  [{ ALL_PROXY: 'http://p', NO_PROXY: 'ub' }, 'http://hub', 'http://p/'],
  [{ ALL_PROXY: 'http://p', NO_PROXY: 'hub:81' }, 'http://hub', 'http://p/'],
  [{ ALL_PROXY: 'http://p', NO_PROXY: 'hub:443' }, 'https://hub', undefined],
  [{ ALL_PROXY: 'http://p', NO_PROXY: '*' }, 'http://hub', undefined],
])('%j: %s by %s', (env, url, proxy) => {
  expect(proxyOf(new URL(url), env)?.href).toBe(proxy);
});

test('a proxy of another protocol is refused; its password is not shown', () => {
  const act = () => proxyOf(new URL('http://hub'), { HTTP_PROXY: 'socks5://u:secret@p' });
  expect(act).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  expect(act).not.toThrow('secret');
});

/** A proxy that passes on; it keeps what it was asked for. */
class FakeProxy {
  readonly asked: string[] = [];
  readonly credentials = new Set<string | undefined>();
  status = 200;
  /** Where CONNECT leads, whatever the client says. */
  target: number | undefined;
  readonly server: Server;

  constructor() {
    this.server = createServer((asked, response) => {
      this.#note(asked);
      const { host: _, 'proxy-authorization': __, ...headers } = asked.headers;
      const onward = request(asked.url!, { method: asked.method ?? 'GET', headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      asked.pipe(onward);
    });
    this.server.on('connect', (asked: IncomingMessage, socket) => {
      this.#note(asked);
      socket.on('error', () => {});
      if (this.status !== 200 || this.target === undefined)
        return socket.end(`HTTP/1.1 ${this.status} No\r\n\r\n`);
      const onward = connect(this.target, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      onward.on('error', () => socket.destroy());
    });
  }

  #note({ method, url, headers }: IncomingMessage): void {
    this.asked.push(`${method} ${url}`);
    this.credentials.add(headers['proxy-authorization']);
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://user:p%40ss@127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

describe('through a proxy', () => {
  let proxy: FakeProxy;
  let url: string;
  const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
  beforeEach(async () => {
    proxy = new FakeProxy();
    url = await proxy.start();
  });
  afterEach(() => proxy.stop());

  test('http: all requests, with its user and password', async () => {
    at.hub.commit('owner/name', { 'm-Q8_0.gguf': model });
    const pulled = await pull('hf:owner/name', at.options({ env: { HTTP_PROXY: url } }));
    expect(readFileSync(pulled.path).equals(model)).toBe(true);
    expect(proxy.asked).toHaveLength(at.hub.seen.length);
    expect([...proxy.credentials]).toEqual([basic]);
  });

  test('https: a tunnel to the host of the endpoint', async () => {
    proxy.status = 407;
    const options = at.options({ endpoint: 'https://hub.example', env: { HTTPS_PROXY: url }, attempts: 1 });
    const error: Error = await pull('hf:owner/name', options).catch((reason) => reason);
    expect(error).toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringMatching(
        /the proxy 127\.0\.0\.1:\d+ answers CONNECT hub\.example:443 with status 407/,
      ),
    });
    expect(error.message).not.toContain('p%40ss');
    expect([proxy.asked, [...proxy.credentials]]).toEqual([['CONNECT hub.example:443'], [basic]]);
  });

  test('https: TLS through the tunnel, for the host of the URL', async () => {
    const made = certificate(at.cacheDir);
    if (!made) return console.log('note: openssl is not here: the test of TLS through a proxy is skipped');
    const secure = createTlsServer(made, (asked, response) => response.end(asked.url));
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    proxy.target = (secure.address() as AddressInfo).port;
    const agent = new TunnelAgent(new URL(url), 30_000);
    const get = (host: string) =>
      new Promise<string>((resolve, reject) => {
        const asked = secureRequest(`https://${host}/path`, { agent, ca: made.cert }, (answer) =>
          answer.once('data', (bytes: Buffer) => resolve(String(bytes))),
        );
        asked.on('error', reject).end();
      });
    try {
      expect([await get('hub.example'), await get('hub.example')]).toEqual(['/path', '/path']);
      await expect(get('other.example')).rejects.toThrow(/does not match certificate/);
      expect(proxy.asked).toEqual(['CONNECT hub.example:443', 'CONNECT other.example:443']); // the first is kept
    } finally {
      agent.destroy();
      secure.closeAllConnections();
      await new Promise((resolve) => secure.close(resolve));
    }
  });
});

/** A key and a certificate of its own, for hub.example. */
function certificate(folder: string): { key: Buffer; cert: Buffer } | undefined {
  const below = join(folder, 'tls');
  mkdirSync(below);
  const [key, cert] = [join(below, 'key.pem'), join(below, 'cert.pem')];
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=hub.example -keyout ${key} -out ${cert}`;
  const { status } = spawnSync('openssl', words.split(' '));
  return status === 0 ? { key: readFileSync(key), cert: readFileSync(cert) } : undefined;
}
