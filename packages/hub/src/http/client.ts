import { aborted, HubError } from '../error.js';
import type { Settings } from '../settings.js';
import { brokenConnection, faultOf, type Subject, shownUrl } from './faults.js';
import { type Answer, type Ask, Transport } from './transport.js';

/** An answer after its redirects. */
export interface Followed extends Answer {
  /** The headers of each redirect, then those of the answer. */
  readonly hops: readonly Answer['headers'][];
}

const maxRedirects = 6;
const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** A redirect that has told what HEAD wants to know: signed URLs may be for GET alone. */
const isDescribed = ({ headers }: Answer, { method }: Ask): boolean =>
  method === 'HEAD' && headers['x-linked-size'] !== undefined;

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** Requests to a Hub: redirects, the token, errors by status. */
export class Client {
  readonly #transport: Transport;
  readonly #origin: string;

  constructor(readonly settings: Settings) {
    this.#transport = new Transport(settings);
    this.#origin = new URL(settings.endpoint).origin;
  }

  subject(repository: string, revision: string, path?: string): Subject {
    const { endpoint, token } = this.settings;
    return {
      repository,
      revision,
      ...(path !== undefined && { path }),
      endpoint,
      hasToken: token !== undefined,
    };
  }

  /**
   * Follows redirects; the body is open. `headers`: without the token, which goes to the endpoint alone.
   * @throws Passing where another attempt may help; HubError
   */
  async open(url: URL, ask: Ask, subject: Subject): Promise<Followed> {
    const hops: Answer['headers'][] = [];
    for (let at = url; hops.length <= maxRedirects; ) {
      const answer = await this.#send(at, ask, subject);
      hops.push(answer.headers);
      if (isSuccess(answer) || isDescribed(answer, ask)) return { ...answer, hops };
      answer.body.resume().on('error', () => {}); // so that the connection can be kept
      if (!isRedirect(answer.status)) throw faultOf(answer, subject);
      at = redirected(at, answer);
    }
    throw new HubError('BAD_ANSWER', `${shownUrl(url)} redirects more than ${maxRedirects} times`);
  }

  async #send(url: URL, ask: Ask, subject: Subject): Promise<Answer> {
    const { token } = this.settings;
    const own =
      url.origin === this.#origin && token !== undefined ? { authorization: `Bearer ${token}` } : {};
    const headers = { 'user-agent': 'quern', 'accept-encoding': 'identity', ...ask.headers, ...own };
    try {
      return await this.#transport.send(url, { ...ask, headers });
    } catch (error) {
      if (ask.signal?.aborted) throw aborted(ask.signal);
      throw error instanceof HubError ? error : brokenConnection(subject, url, error);
    }
  }

  close(): void {
    this.#transport.close();
  }
}

/** @throws HubError BAD_ANSWER */
function redirected(from: URL, { headers: { location } }: Answer): URL {
  if (location === undefined || !URL.canParse(location, from.href))
    throw new HubError('BAD_ANSWER', `${shownUrl(from)} redirects to no URL`);
  const to = new URL(location, from);
  if (!/^https?:$/.test(to.protocol) || (from.protocol === 'https:' && to.protocol === 'http:'))
    throw new HubError('BAD_ANSWER', `${shownUrl(from)} redirects to ${shownUrl(to)}, which is not https`);
  return to;
}
