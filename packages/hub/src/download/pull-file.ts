import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '@quern/core';
import { ifThere, inCache } from '../cache/cache-fault.js';
import { blobPath, incompletePath, type Layout, snapshotPath } from '../cache/layout.js';
import { type Holder, isLock, type Lock, takeLock } from '../cache/lock.js';
import { placeFile } from '../cache/place-file.js';
import { assertNotAborted } from '../error.js';
import type { Client } from '../http/client.js';
import { pause } from '../http/retry.js';
import { fetchBlob } from './fetch-blob.js';
import type { DownloadProgress } from './progress.js';
import type { Slots } from './slots.js';
import type { WantedFile } from './wanted-file.js';

export interface PullContext {
  readonly client: Client;
  readonly layout: Layout;
  readonly slots: Slots;
  readonly progress: DownloadProgress;
  readonly signal: AbortSignal;
}

/** Milliseconds between two looks at another process's lock. */
const lookMs = 200;

/** Size of a file; undefined: there is none. Follows links. */
export const sizeAt = async (path: string): Promise<number | undefined> =>
  (await inCache(path, () => ifThere(() => stat(path))))?.size;

/** Is the file in its snapshot, with or without a blob? Python's tools have no blobs where links are refused. */
export async function isInSnapshot(layout: Layout, { commit, path, size }: WantedFile): Promise<boolean> {
  return (await sizeAt(snapshotPath(layout, commit, path))) === size;
}

/** The bytes that a download of the file needs on the disk. */
export async function missingBytes(layout: Layout, file: WantedFile): Promise<number> {
  if (await isInSnapshot(layout, file)) return 0;
  if ((await sizeAt(blobPath(layout, file.hash))) === file.size) return 0;
  return Math.max(0, file.size - ((await sizeAt(incompletePath(layout, file.hash))) ?? 0));
}

/** Brings one file into the cache. @throws HubError */
export async function pullFile(context: PullContext, file: WantedFile): Promise<void> {
  const { layout, progress } = context;
  if (!(await isInSnapshot(layout, file))) {
    const blob = blobPath(layout, file.hash);
    await inCache(layout.blobs, () => makeFolder(layout.blobs));
    if ((await sizeAt(blob)) !== file.size) await pullBlob(context, file, blob);
    await inCache(layout.snapshots, () => placeFile(blob, snapshotPath(layout, file.commit, file.path)));
  }
  progress.finished(file);
}

/** Downloads the blob, unless another process does. */
async function pullBlob(context: PullContext, file: WantedFile, blob: string): Promise<void> {
  const lock = await waitForLock(context, file);
  const { client, layout, slots, signal, progress } = context;
  try {
    if ((await sizeAt(blob)) === file.size) return; // by the process that held the lock
    await fetchBlob(client, file, blob, incompletePath(layout, file.hash), {
      slots,
      signal,
      onBytes: (bytes) => progress.at(file.path, bytes),
    });
  } finally {
    await lock.release();
  }
}

async function waitForLock(context: PullContext, file: WantedFile): Promise<Lock> {
  const { layout, signal } = context;
  const path = join(layout.locks, `${file.hash}.quern.lock`);
  for (;;) {
    assertNotAborted(signal);
    const taken = await inCache(path, () => takeLock(path));
    if (isLock(taken)) return taken;
    await reportWaiting(context, file, taken);
    await pause(lookMs, signal);
  }
}

async function reportWaiting(
  { layout, progress }: PullContext,
  file: WantedFile,
  { pid }: Holder,
): Promise<void> {
  const bytes = await ifThere(() => lstat(incompletePath(layout, file.hash)));
  progress.waiting(file.path, Math.min(file.size, bytes?.size ?? 0), pid);
}
