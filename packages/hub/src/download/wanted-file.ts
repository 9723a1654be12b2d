import { HubError } from '../error.js';
import type { Client } from '../http/client.js';
import { type Metadata, metadataOf } from '../http/metadata.js';
import { withRetries } from '../http/retry.js';
import { fileUrl } from '../repository/file-url.js';
import type { RemoteFile } from '../repository/list-repository.js';

/** A file to download: all that is known of it before its bytes. */
export interface WantedFile {
  readonly repository: string;
  readonly commit: string;
  readonly path: string;
  readonly size: number;
  /** Name of its blob: SHA-256, git's SHA-1, or the ETag of a mirror. */
  readonly hash: string;
}

/**
 * Size and hash from the listing; a mirror whose listing lacks them has one request per file.
 * @throws HubError BAD_ANSWER; those of requests
 */
export async function wantedFile(
  client: Client,
  repository: string,
  commit: string,
  { path, size, hash }: RemoteFile,
): Promise<WantedFile> {
  const place = { repository, commit, path };
  if (size !== undefined && hash !== undefined) return { ...place, size, hash };
  const found = await askMetadata(client, repository, commit, path);
  if (found.size !== undefined && found.hash !== undefined)
    return { ...place, size: found.size, hash: found.hash };
  throw new HubError(
    'BAD_ANSWER',
    `${path} of hf:${repository}: ${client.settings.endpoint} gives no size or no ETag: check HF_ENDPOINT`,
  );
}

function askMetadata(client: Client, repository: string, commit: string, path: string): Promise<Metadata> {
  const { endpoint, signal } = client.settings;
  const url = fileUrl(endpoint, repository, commit, path);
  const subject = client.subject(repository, commit, path);
  return withRetries(client.settings, async () => {
    const answer = await client.open(url, { method: 'HEAD', headers: {}, signal }, subject);
    answer.body.resume();
    return metadataOf(answer);
  });
}
