import * as http from 'node:http';
import * as https from 'node:https';
import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { proxyHeaders } from './proxy.js';

type Created = (error: Error | null, stream: Duplex) => void;

/**
 * An agent whose TLS connections go through a proxy, by CONNECT (RFC 9110, 9.3.6). Node 20 has no
 * support for proxies.
 */
export class TunnelAgent extends https.Agent {
  constructor(
    private readonly proxy: URL,
    private readonly idleTimeoutMs: number,
  ) {
    super({ keepAlive: true });
  }

  override createConnection(options: https.RequestOptions, created?: Created): undefined {
    const { host, servername, ca } = options;
    const authority = `${host}:${options.port}`;
    const request = this.#toProxy(authority);
    request.once('connect', (answer, socket) => {
      if (answer.statusCode === 200)
        created?.(
          null,
          connect({ socket, ...(host && { host }), ...(servername && { servername }), ...(ca && { ca }) }),
        );
      else {
        const fault = `the proxy ${this.proxy.host} answers CONNECT ${authority} with status ${answer.statusCode}`;
        created?.(new Error(fault), socket.destroy());
      }
    });
    request.once('timeout', () => request.destroy(new Error(`the proxy ${this.proxy.host} does not answer`)));
    request.once('error', (error) => created?.(error, new Duplex())).end();
  }

  #toProxy(authority: string): http.ClientRequest {
    const { proxy } = this;
    return (proxy.protocol === 'https:' ? https : http).request({
      host: proxy.hostname,
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      timeout: this.idleTimeoutMs,
      path: authority,
      headers: { host: authority, ...proxyHeaders(proxy) },
    });
  }
}
