import { lstat, mkdtemp, readdir, rmdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, messageOf } from '../error.js';
import type { CacheOptions } from '../list.js';
import { assertHubOptions } from '../options.js';
import { settingsOf } from '../settings.js';
import { ifThere, inCache } from './cache-fault.js';

/** The state of the cache, for reports. */
export interface CacheState {
  readonly path: string;
  readonly exists: boolean;
  /** Bytes of all files, each once: links are not followed. */
  readonly bytes: number;
  /** Bytes of downloads that have not ended: the next pull resumes them. */
  readonly incompleteBytes: number;
  /** Free bytes of the disk; undefined where the file system does not count. */
  readonly freeBytes?: number;
  /** Why no folder can be made here: 'EACCES', 'EROFS'. Absent: it can. */
  readonly unwritable?: string;
}

/** Describes the cache without a request. Makes and removes one empty folder there. @throws HubError BAD_OPTION, CACHE_FAILED */
export async function inspectCache(options: CacheOptions = {}): Promise<CacheState> {
  assertHubOptions('inspectCache', options);
  const { cacheDir: path } = settingsOf(options);
  return inCache(path, async () => {
    const exists = (await ifThere(() => lstat(path))) !== undefined;
    const nearest = await nearestFolder(path);
    const [sizes, free, unwritable] = await Promise.all([
      sizesBelow(path),
      freeBytes(nearest),
      fault(nearest),
    ]);
    return {
      path,
      exists,
      ...sizes,
      ...(free !== undefined && { freeBytes: free }),
      ...(unwritable !== undefined && { unwritable }),
    };
  });
}

/** The path itself, or the nearest folder above it that exists: a pull makes the others. */
async function nearestFolder(path: string): Promise<string> {
  const above = dirname(path);
  const isThere = (await ifThere(() => lstat(path))) !== undefined;
  return isThere || above === path ? path : nearestFolder(above);
}

async function sizesBelow(path: string): Promise<Pick<CacheState, 'bytes' | 'incompleteBytes'>> {
  const entries = (await ifThere(() => readdir(path, { withFileTypes: true }))) ?? [];
  let [bytes, incompleteBytes] = [0, 0];
  for (const entry of entries) {
    const own = join(path, entry.name);
    if (entry.isDirectory()) {
      const below = await sizesBelow(own);
      bytes += below.bytes;
      incompleteBytes += below.incompleteBytes;
    } else if (entry.isFile()) {
      const size = (await ifThere(() => lstat(own)))?.size ?? 0;
      bytes += size;
      if (entry.name.endsWith('.incomplete')) incompleteBytes += size;
    }
  }
  return { bytes, incompleteBytes };
}

async function freeBytes(folder: string): Promise<number | undefined> {
  const { bavail, bsize, blocks } = await statfs(folder);
  return blocks === 0 ? undefined : bavail * bsize;
}

/** Tries it: access rights alone do not tell of read-only and foreign file systems. */
async function fault(folder: string): Promise<string | undefined> {
  try {
    await rmdir(await mkdtemp(join(folder, '.quern-')));
    return undefined;
  } catch (error) {
    return codeOf(error) ?? messageOf(error);
  }
}
