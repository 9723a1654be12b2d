import { isIP, isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { ApiError } from './errors.js';

const isHeader = /^(\[[\da-f:.]+\]|[\w.-]+)(:\d*)?$/i;

/** The host as URLs write it: lower case, without port and final dot; undefined for a text that is no host. */
function normalised(host: string): string | undefined {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : undefined;
}

const isAddress = (host: string): boolean => isIP(host.replace(/^\[|\]$/g, '')) !== 0;

/** `localhost` and names below it; 127.0.0.0/8, also as mapped IPv6; ::1. */
const isLoopback = (host: string): boolean =>
  /^((.+\.)?localhost|127\.[\d.]+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/.test(host);

/** To listen on: all addresses. To connect to: this machine. */
const isUnspecified = (host: string): boolean => ['0.0.0.0', '[::]'].includes(host);

/** Whether a text is an entry of `allowedHosts`. */
export const isAllowedHost = (text: string): boolean =>
  text === '*' ||
  isIPv6(text.replace(/^\[|\]$/g, '')) ||
  (/^[^\s:/\\@?#*[\]]+$/.test(text) && normalised(text.replace(/^\./, '')) !== undefined);

/** Names of this machine in its network. */
function ownNames(): string[] {
  const name = hostname();
  const short = name.split('.')[0]!;
  return [name, short, `${short}.local`];
}

/**
 * The hosts that a server answers to. By DNS rebinding an attacker's name leads to this machine, and pages of that name
 * share its origin with the server; only `Host` shows the name. Addresses cannot be rebound.
 */
export class Hosts {
  private readonly names: ReadonlySet<string>;
  /** As `.example.org`. */
  private readonly domains: readonly string[];
  private readonly hasAll: boolean;
  /** Whether clients reach the server over the network, by any address of this machine. */
  private readonly isPublic: boolean;

  /** @param listensOn names or addresses that the server listens on; absent: unknown */
  constructor(allowed: string | readonly string[] = [], listensOn: string | readonly string[] = 'localhost') {
    const entries = [allowed].flat();
    const own = [listensOn].flat().map((each) => normalised(each) ?? '');
    this.hasAll = entries.includes('*');
    this.isPublic = own.some((each) => isUnspecified(each) || !isLoopback(each));
    const names = [...own, ...entries, ...(this.isPublic ? ownNames() : [])];
    this.names = new Set(names.flatMap((each) => normalised(each.replace(/^\./, '')) ?? []));
    this.domains = entries.flatMap((each) => (each.startsWith('.') ? `.${normalised(each.slice(1))}` : []));
  }

  /**
   * Checks `Host`, and the URL of a request line that has a whole one. Browsers always send `Host`: a request without it
   * is another program's. `X-Forwarded-Host` does not count, because any client can write it.
   */
  faultOf({ headers, url }: Request): ApiError | undefined {
    if (this.hasAll) return undefined;
    const refused = [headers.get('host'), new URL(url).host].find((host) => host && !this.has(host));
    return refused ? notAllowed(refused.replace(/:\d*$/, '').slice(0, mostShown)) : undefined;
  }

  private has(given: string): boolean {
    const host = isHeader.test(given) ? normalised(given) : undefined;
    if (host === undefined) return false;
    if (isLoopback(host) || isUnspecified(host) || this.names.has(host)) return true;
    return (this.isPublic && isAddress(host)) || this.domains.some((domain) => host.endsWith(domain));
  }
}

/** Longest name in DNS. */
const mostShown = 253;

const notAllowed = (host: string): ApiError =>
  new ApiError(
    403,
    `the server does not answer to the host '${host}': allow it with allowedHosts (quern serve --allowed-hosts ${host})`,
    null,
    'host_not_allowed',
  );
