import { rules } from '@quern/core';
import { HubError } from '../error.js';
import type { Client } from '../http/client.js';
import type { Subject } from '../http/faults.js';
import { readJson } from '../http/read-json.js';
import { withRetries } from '../http/retry.js';
import type { HubName } from '../name/parse-name.js';

/** A file of a repository. */
export interface RemoteFile {
  /** With '/' between its parts. Not checked: a server may write anything. */
  readonly path: string;
  /** Absent: the server does not say. */
  readonly size?: number;
  /** SHA-256 of the bytes where the file is in LFS or Xet, else git's SHA-1 of the blob. Absent: the server does not say. */
  readonly hash?: string;
}

/** The files of a repository at a revision. */
export interface Listing {
  /** 40 hexadecimal digits. */
  readonly commit: string;
  readonly files: readonly RemoteFile[];
}

/**
 * One request: commit and files with sizes and hashes.
 * @throws HubError NOT_FOUND, UNAUTHORIZED, GATED, RATE_LIMITED, UNREACHABLE, BAD_ANSWER, ABORTED
 */
export async function listRepository(client: Client, { repository, revision }: HubName): Promise<Listing> {
  const { settings } = client;
  const url = new URL(
    `${settings.endpoint}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`,
  );
  const subject = client.subject(repository, revision);
  return withRetries(settings, async () => {
    const ask = { method: 'GET', headers: { accept: 'application/json' }, signal: settings.signal } as const;
    const answer = await client.open(url, ask, subject);
    return listingOf(await readJson(answer, subject, settings.signal), subject);
  });
}

function listingOf(json: unknown, { repository, endpoint }: Subject): Listing {
  const fault = (what: string) =>
    new HubError('BAD_ANSWER', `the listing of hf:${repository} at ${endpoint} ${what}: check HF_ENDPOINT`);
  if (!rules.isObject(json)) throw fault('is no object');
  const { sha, siblings } = json;
  if (typeof sha !== 'string' || !/^[0-9a-f]{40}$/.test(sha)) throw fault('has no commit (sha)');
  if (!Array.isArray(siblings)) throw fault('has no files (siblings)');
  return { commit: sha, files: siblings.flatMap(fileOf) };
}

function fileOf(sibling: unknown): RemoteFile[] {
  if (!rules.isObject(sibling) || typeof sibling.rfilename !== 'string') return [];
  const { rfilename: path, size, blobId, lfs } = sibling;
  const sha256 = rules.isObject(lfs) ? (lfs.sha256 ?? lfs.oid) : undefined;
  const hash = rules.isObject(lfs) ? hashOf(sha256, 64) : hashOf(blobId, 40);
  return [{ path, ...(isSize(size) && { size }), ...(hash !== undefined && { hash }) }];
}

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const hashOf = (value: unknown, digits: number): string | undefined =>
  typeof value === 'string' && value.length === digits && /^[0-9a-f]+$/.test(value) ? value : undefined;
