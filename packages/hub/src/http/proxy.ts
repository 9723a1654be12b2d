import { badOption } from '../error.js';
import type { Environment } from '../options.js';

/** Does NO_PROXY name the host? Entries: '*', 'host', '.domain', '*.domain', 'host:port'; a name includes its subdomains. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const ownPort = port || (protocol === 'https:' ? '443' : '80');
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const [, host = '', wanted] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const name = host.replace(/^\*?\./, '');
    if (name === '' || (wanted !== undefined && wanted !== ownPort)) return false;
    return hostname === name || hostname.endsWith(`.${name}`);
  });
}

/** The first variable that is set: curl and its followers read the small letters first. */
const variable = (env: Environment, name: string): string => env[name.toLowerCase()] || env[name] || '';

/**
 * The proxy of a URL by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; undefined: none.
 * @throws HubError BAD_OPTION where the proxy is no http or https URL
 */
export function proxyOf(url: URL, env: Environment): URL | undefined {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const text = variable(env, name) || variable(env, 'ALL_PROXY');
  if (text === '' || isExempt(url, variable(env, 'NO_PROXY'))) return undefined;
  const full = text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(full) && /^https?:$/.test(new URL(full).protocol)) return new URL(full);
  throw badOption(
    `the proxy of ${name} is no http or https URL; it must look like http://proxy.example:3128`,
    name,
  );
}

/** The header of a proxy with user and password in its URL. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
