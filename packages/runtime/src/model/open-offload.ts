import type { KvCache } from '@quern/core';
import type { ModelFile, PartPlace } from '@quern/models';
import { BlockFolder } from '../engine/offload/block-folder.js';
import { MemoryBlocks } from '../engine/offload/memory-blocks.js';
import type { OffloadOptions } from '../engine/offload/offloaded-prefix-cache.js';
import { RuntimeError } from '../error.js';
import { cacheIdentity } from './cache-identity.js';
import { offloads, type ResolvedLoadOptions } from './load-options.js';

/** Where the cache's blocks are offloaded; undefined: nowhere. @throws RuntimeError BAD_OPTION */
export async function openOffload(
  file: ModelFile,
  places: readonly PartPlace[],
  cache: KvCache,
  options: ResolvedLoadOptions,
): Promise<OffloadOptions | undefined> {
  if (!offloads(options)) return undefined;
  const { cacheDir: path, cacheDirBytes: mostBytes, cacheMemory, onNotice } = options;
  needNoStates(cache, file.path, path === undefined ? 'cacheMemory' : 'cacheDir');
  needRoomForBlock(cacheMemory, cache);
  const identity = await cacheIdentity(file, places, cache);
  const form = { identity, cache };
  const folder = path === undefined ? undefined : await BlockFolder.open({ path, mostBytes, form, onNotice });
  const memory = cacheMemory === undefined ? undefined : new MemoryBlocks(cacheMemory);
  return { identity, folder, memory, onNotice };
}

function needNoStates({ hasStates }: KvCache, path: string, option: string): void {
  if (hasStates)
    throw new RuntimeError(
      'BAD_OPTION',
      `${path}: layers of this model keep states, which are not offloaded yet: leave ${option} out`,
    );
}

function needRoomForBlock(cacheMemory: number | undefined, { blockBytes }: KvCache): void {
  if (cacheMemory !== undefined && cacheMemory < blockBytes)
    throw new RuntimeError(
      'BAD_OPTION',
      `cacheMemory is ${cacheMemory}, but one block of this model takes ${blockBytes} bytes: give more, or leave it out`,
    );
}
