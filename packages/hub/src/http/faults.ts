import { HubError, messageOf } from '../error.js';
import type { Answer } from './transport.js';

/** A failure that another attempt may mend. */
export class Passing extends Error {
  constructor(
    readonly error: HubError,
    /** From the header Retry-After. */
    readonly waitMs?: number | undefined,
  ) {
    super(error.message);
  }
}

/** A URL for messages: without user, password and query, since signed URLs are secrets. */
export const shownUrl = ({ origin, pathname }: URL): string => `${origin}${pathname}`;

/** What was asked for, for messages. */
export interface Subject {
  /** 'owner/name' */
  readonly repository: string;
  readonly revision: string;
  /** Absent: the listing of the repository. */
  readonly path?: string;
  readonly endpoint: string;
  readonly hasToken: boolean;
}

const named = ({ repository, revision, path }: Subject): string => {
  if (path !== undefined) return `${path} of hf:${repository}`;
  return `hf:${repository}${revision === 'main' ? '' : `@${revision}`}`;
};

export const brokenConnection = (subject: Subject, url: URL, cause: unknown): Passing =>
  new Passing(
    new HubError(
      'UNREACHABLE',
      `${named(subject)}: ${url.host} cannot be reached, or the connection broke (${messageOf(cause) || String(cause)}): check the network, the proxy (HTTPS_PROXY) and HF_ENDPOINT; a further pull resumes`,
      { cause },
    ),
  );

/** Seconds, or a date (RFC 9110, 10.2.3), as milliseconds from now. */
function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return 1000 * Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** The error of a status that is no success: `Passing` where another attempt may help. */
export function faultOf(answer: Answer, subject: Subject): HubError | Passing {
  const { status, headers, url } = answer;
  const shown = `${named(subject)}: ${url.host} answers with status ${status}`;
  if (status === 401) return unauthorized(shown, headers['x-error-code'], subject);
  if (status === 403) return forbidden(shown, headers['x-error-code'], subject);
  if (status === 404 || status === 410) return notFound(shown, headers['x-error-code'], subject);
  if (status === 416) return tooShort(shown, headers['content-range']);
  if (status === 429) return new Passing(limited(shown, subject), retryAfter(headers['retry-after']));
  if (status >= 500 || status === 408)
    return new Passing(
      new HubError('SERVER_FAILED', `${shown}: the server fails; try again later`),
      retryAfter(headers['retry-after']),
    );
  return new HubError('BAD_ANSWER', `${shown}, which no Hub does: check HF_ENDPOINT (${subject.endpoint})`);
}

const tooShort = (shown: string, size = 'no size is given'): HubError =>
  new HubError('WRONG_BYTES', `${shown}: the file is shorter than its listing says (${size})`);

function limited(shown: string, { hasToken }: Subject): HubError {
  const advice = hasToken ? '' : ', or give a token (HF_TOKEN): its limit is higher';
  return new HubError('RATE_LIMITED', `${shown}: too many requests; wait some minutes${advice}`);
}

const isGated = (code: unknown): boolean => code === 'GatedRepo';

const accept = ({ endpoint, repository }: Subject): string => `accept its terms at ${endpoint}/${repository}`;

function unauthorized(shown: string, code: unknown, subject: Subject): HubError {
  if (isGated(code))
    return new HubError(
      'GATED',
      `${shown}: the repository is gated: ${accept(subject)}, then set HF_TOKEN to a token of your account`,
    );
  const advice = subject.hasToken
    ? 'the repository does not exist, or the token (HF_TOKEN) is wrong, expired or without access to it'
    : 'the repository does not exist, or it is private: check the name; for a private one set HF_TOKEN';
  return new HubError('UNAUTHORIZED', `${shown}: ${advice}`);
}

function forbidden(shown: string, code: unknown, subject: Subject): HubError {
  if (isGated(code))
    return new HubError(
      'GATED',
      `${shown}: the repository is gated: ${accept(subject)}; the token's account has no access yet`,
    );
  return new HubError(
    'FORBIDDEN',
    `${shown}: the token has no access; a fine-grained token needs the right to read this repository`,
  );
}

function notFound(shown: string, code: unknown, { repository, revision, path, endpoint }: Subject): HubError {
  if (code === 'RevisionNotFound')
    return new HubError(
      'NOT_FOUND',
      `${shown}: the repository has no revision '${revision}': see ${endpoint}/${repository}/tree/main`,
    );
  if (path !== undefined)
    return new HubError(
      'NOT_FOUND',
      `${shown}: the repository has no such file at this revision: see ${endpoint}/${repository}/tree/${revision}`,
    );
  return new HubError('NOT_FOUND', `${shown}: there is no such repository; search at ${endpoint}/models`);
}
