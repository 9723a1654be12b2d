import { statfs } from 'node:fs/promises';
import { HubError } from '../error.js';

const giga = (bytes: number): string => (bytes / 1e9).toFixed(bytes < 1e8 ? 4 : 2);

/** @throws HubError NO_SPACE where the disk of `folder` has fewer free bytes than needed */
export async function assertSpace(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize, blocks } = await statfs(folder);
  if (blocks === 0) return; // file systems that do not count
  const free = bavail * bsize;
  if (neededBytes > free)
    throw new HubError(
      'NO_SPACE',
      `the download needs ${giga(neededBytes)} GB (${neededBytes} bytes), but the disk of ${folder} has ${giga(free)} GB free (${free} bytes): free space (quern ls, quern rm), or set HF_HUB_CACHE to a folder of another disk`,
    );
}
