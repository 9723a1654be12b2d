import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { ApiError } from './errors.js';
import { isJson } from './requests/json-type.js';

/** Which pages may call the server: its own, and those of the origins that `cors` allows. */
export class Origins {
  private readonly allowed: readonly string[];

  constructor(allowed: string | readonly string[] = []) {
    this.allowed = [allowed].flat();
  }

  allows(origin: string): boolean {
    return this.allowed.includes('*') || this.allowed.includes(origin);
  }

  /**
   * Whether a page of another origin sent the request, and `cors` does not allow it. A browser's `Sec-Fetch-Site` is
   * right where a proxy has changed `Host`. Without `Origin` only bodies that need no preflight count: a link to the
   * page, or to /metrics, has none.
   */
  isForeign(request: Request): boolean {
    const origin = request.headers.get('origin');
    const site = request.headers.get('sec-fetch-site');
    if (origin === null) return (site === 'cross-site' || site === 'same-site') && isSimplePost(request);
    return site !== 'same-origin' && !this.allows(origin) && !isOwn(origin, request);
  }

  /** Answers preflights, and lets pages of the allowed origins read answers. */
  middleware(): MiddlewareHandler {
    const answer = cors({ origin: this.allowed.includes('*') ? '*' : [...this.allowed] });
    return async (c, next) => {
      const isPrivate = c.req.header('access-control-request-private-network') === 'true';
      if (isPrivate && this.allows(c.req.header('origin') ?? ''))
        c.res.headers.set('access-control-allow-private-network', 'true');
      return answer(c, next);
    };
  }
}

/** Whether the origin has the host and port of the request; a proxy may have taken `https` away. */
function isOwn(origin: string, { headers, url }: Request): boolean {
  const host = headers.get('host') || new URL(url).host;
  return ['http', 'https'].some(
    (scheme) => URL.canParse(`${scheme}://${host}`) && new URL(`${scheme}://${host}`).origin === origin,
  );
}

/** Whether a page of any origin can send the request without a preflight. */
export const isSimplePost = (request: Request): boolean => request.method === 'POST' && !isJson(request);

export const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('access-control-request-method');

export function foreignOrigin({ headers }: Request): ApiError {
  const origin = headers.get('origin')?.slice(0, 255);
  const isNamed = origin !== undefined && origin !== 'null';
  const message = isNamed
    ? `pages of ${origin} may not call this server: allow them with cors (quern serve --cors-origin ${origin})`
    : "pages without an origin (local files, sandboxed frames) may not call this server: only cors '*' allows them (quern serve --cors-origin '*')";
  return new ApiError(403, message, null, 'origin_not_allowed');
}
