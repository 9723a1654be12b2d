import { serve as listen, type ServerType } from '@hono/node-server';
import { type Handler, handlerOf } from './handler.js';
import { defaults, needOptions, type ServeOptions, serveSchema } from './options.js';

/** A server that listens. */
export interface RunningServer extends Omit<Handler, 'drain'> {
  readonly url: string;
  /**
   * Ends the requests under way (see `drainMs`), and closes. Until then new requests get 503, as does /ready. Closing
   * twice is harmless.
   */
  close(): Promise<void>;
}

/**
 * Listens. Rejects where the port is taken.
 * @throws RuntimeError BAD_OPTION
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  needOptions('serve', options, serveSchema);
  const { host = defaults.host, port = defaults.port } = options;
  const handler = handlerOf(options, host);
  return new Promise((resolve, reject) => {
    const given = { fetch: handler.fetch, hostname: host, port, serverOptions: timeouts };
    const server = listen(given, ({ port: bound }) => {
      server.off('error', reject);
      resolve(
        running(server, handler, `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, options),
      );
    });
    server.on('error', reject);
  });
}

/**
 * Kept connections stay open longer than those of proxies (60 s of most), so that no request meets one that closes. Bodies
 * have a limit of their own, `bodyMs`: a long one that comes is not cut.
 */
const timeouts = { keepAliveTimeout: 75_000, headersTimeout: 80_000, requestTimeout: 0 };

/** Time for the last bytes of the answers, and for connections that have not asked anything. */
const lastMs = 1000;

/** Refuses connections; those without an answer under way end at once. */
async function closeServer(server: ServerType): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  if (!('closeAllConnections' in server)) return closed;
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const last = setTimeout(() => server.closeAllConnections(), lastMs);
  await closed;
  clearInterval(idle);
  clearTimeout(last);
}

function running(
  server: ServerType,
  handler: Handler,
  url: string,
  { drainMs }: ServeOptions,
): RunningServer {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await handler.drain(drainMs);
    await closeServer(server);
  };
  return {
    url,
    fetch: handler.fetch,
    get running() {
      return handler.running;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}
