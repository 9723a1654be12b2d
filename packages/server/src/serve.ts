import { serve as listen, type ServerType } from '@hono/node-server';
import { type Handler, handlerOf } from './handler.js';
import { defaults, needOptions, type ServeOptions, serveSchema } from './options.js';

/** A server that listens. */
export interface RunningServer extends Omit<Handler, 'drain'> {
  /** The first of `urls`. */
  readonly url: string;
  /** One per address. */
  readonly urls: readonly string[];
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
  return running(await listenAt(addressesOf(host), port, handler), handler, options);
}

/** An address to listen on. */
interface Address {
  /** As the caller gave it. */
  readonly name: string;
  readonly host: string;
  /** It may be missing: one of the two addresses of 'localhost'. */
  readonly isOptional: boolean;
}

const loopback = ['127.0.0.1', '::1'];

/** Each address once. */
function addressesOf(host: string | readonly string[]): readonly Address[] {
  const all = [host].flat().flatMap((name): Address[] => {
    if (name !== 'localhost') return [{ name, host: name, isOptional: false }];
    return loopback.map((each, i) => ({ name: i === 0 ? name : each, host: each, isOptional: i > 0 }));
  });
  return all.filter(({ host: own }, i) => all.findIndex((each) => each.host === own) === i);
}

/** A server at one address. */
interface Listener {
  readonly server: ServerType;
  readonly port: number;
  readonly url: string;
}

/** Machines without IPv6 have no ::1. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(String(error.code));

/** Servers at all addresses, on one port; none where one of them fails. */
async function listenAt(
  addresses: readonly Address[],
  port: number,
  handler: Handler,
): Promise<readonly Listener[]> {
  const listeners: Listener[] = [];
  try {
    for (const address of addresses)
      await listener(address, listeners[0]?.port ?? port, handler).then(
        (found) => listeners.push(found),
        (error: unknown) => {
          if (!address.isOptional || !isMissing(error)) throw error;
        },
      );
    return listeners;
  } catch (error) {
    await Promise.all(listeners.map(({ server }) => closeServer(server)));
    throw error;
  }
}

const listener = ({ name, host }: Address, port: number, { fetch }: Handler): Promise<Listener> =>
  new Promise((resolve, reject) => {
    const server = listen({ fetch, hostname: host, port, serverOptions: timeouts }, ({ port: bound }) => {
      server.off('error', reject);
      const url = `http://${name.includes(':') ? `[${name}]` : name}:${bound}`;
      resolve({ server, port: bound, url });
    });
    server.on('error', reject);
  });

/**
 * Kept connections stay open longer than those of proxies (60 s of most), so that no request meets one that closes. Bodies
 * have a limit of their own, `bodyMs`: a large one has more time.
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

function running(listeners: readonly Listener[], handler: Handler, { drainMs }: ServeOptions): RunningServer {
  const urls = listeners.map(({ url }) => url);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await handler.drain(drainMs);
    await Promise.all(listeners.map(({ server }) => closeServer(server)));
  };
  return {
    url: urls[0]!,
    urls,
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
