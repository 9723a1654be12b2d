import { serve as listen, type ServerType } from '@hono/node-server';
import { createHandler, type Handler } from './handler.js';
import { defaults, type ServeOptions } from './options.js';

/** A server that listens. */
export interface RunningServer extends Omit<Handler, 'drain'> {
  readonly url: string;
  /** Takes no more requests, ends those under way (see `drainMs`), and closes. Closing twice is harmless. */
  close(): Promise<void>;
}

/** Listens. Rejects where the port is taken. */
export function serve(options: ServeOptions): Promise<RunningServer> {
  const { host = defaults.host, port = defaults.port } = options;
  const handler = createHandler(options);
  return new Promise((resolve, reject) => {
    const server = listen({ fetch: handler.fetch, hostname: host, port }, ({ port: bound }) => {
      server.off('error', reject);
      resolve(
        running(server, handler, `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, options),
      );
    });
    server.on('error', reject);
  });
}

function running(
  server: ServerType,
  handler: Handler,
  url: string,
  { drainMs }: ServeOptions,
): RunningServer {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await handler.drain(drainMs);
    if ('closeAllConnections' in server) server.closeAllConnections();
    await closed;
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
