import type { MiddlewareHandler } from 'hono';
import { Hosts } from './hosts.js';
import type { HandlerOptions } from './options.js';
import { foreignOrigin, isPreflight, isSimplePost, type Origins } from './origins.js';

/**
 * Keeps web pages from using a server that needs no key. Keys protect a server: pages of other origins do not have them.
 * An application that mounts the handler decides by `allowedHosts`; without it, only what no preflight precedes is
 * refused.
 * @param listensOn what `serve` listens on
 */
export function guardOf(
  options: HandlerOptions,
  origins: Origins,
  listensOn: string | readonly string[] | undefined,
): MiddlewareHandler {
  const { apiKeys, allowedHosts, log } = options;
  const isOpen = apiKeys === undefined;
  const isChecked = allowedHosts !== undefined || (isOpen && listensOn !== undefined);
  const hosts = isChecked ? new Hosts(allowedHosts, listensOn) : undefined;
  const needsOrigin = (request: Request): boolean =>
    isPreflight(request) || (isOpen && (isChecked || isSimplePost(request)));
  return async ({ req: { raw, method, path } }, next) => {
    const isForeign = needsOrigin(raw) && origins.isForeign(raw);
    const fault = hosts?.faultOf(raw) ?? (isForeign ? foreignOrigin(raw) : undefined);
    if (!fault) return next();
    const { status, message } = fault;
    log?.({ time: new Date().toISOString(), method, path, status, error: message });
    throw fault;
  };
}
