import * as http from 'node:http';
import * as https from 'node:https';
import type { Settings } from '../settings.js';
import { proxyHeaders, proxyOf } from './proxy.js';
import { TunnelAgent } from './tunnel.js';

/** An answer whose body has not been read. */
export interface Answer {
  readonly url: URL;
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: http.IncomingMessage;
}

export interface Ask {
  readonly method: 'GET' | 'HEAD';
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

/** Requests over kept connections, with the proxies of the environment. Redirects are not followed. */
export class Transport {
  readonly #agents = new Map<string, http.Agent>();

  constructor(private readonly settings: Pick<Settings, 'env' | 'idleTimeoutMs'>) {}

  /** Rejects with the error of the connection. */
  send(url: URL, ask: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = this.#request(url, ask);
      const { idleTimeoutMs } = this.settings;
      request.once('timeout', () => request.destroy(new Error(`no byte came for ${idleTimeoutMs} ms`)));
      request.once('response', (body) =>
        resolve({ url, status: body.statusCode ?? 0, headers: body.headers, body }),
      );
      request.on('error', reject); // also after the answer: the body has its own error then
      request.end();
    });
  }

  #request(url: URL, { method, headers, signal }: Ask): http.ClientRequest {
    const proxy = proxyOf(url, this.settings.env);
    const given = { method, timeout: this.settings.idleTimeoutMs, ...(signal && { signal }) };
    if (proxy === undefined || url.protocol === 'https:') {
      const { request } = url.protocol === 'https:' ? https : http;
      return request(url, { ...given, headers, agent: this.#agent(url.protocol, proxy) });
    }
    const { request } = proxy.protocol === 'https:' ? https : http;
    return request({
      ...given,
      host: proxy.hostname,
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      path: url.href,
      headers: { ...headers, host: url.host, ...proxyHeaders(proxy) },
      agent: this.#agent(proxy.protocol, undefined),
    });
  }

  #agent(protocol: string, proxy: URL | undefined): http.Agent {
    const key = `${protocol} ${proxy?.href ?? ''}`;
    const known = this.#agents.get(key);
    if (known) return known;
    const made = proxy ? new TunnelAgent(proxy, this.settings.idleTimeoutMs) : makeAgent(protocol);
    this.#agents.set(key, made);
    return made;
  }

  /** Closes the connections. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }
}

const makeAgent = (protocol: string): http.Agent =>
  new (protocol === 'https:' ? https : http).Agent({ keepAlive: true });
