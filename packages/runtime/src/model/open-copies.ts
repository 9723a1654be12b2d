import type { KvCache } from '@quern/core';
import type { ModelFile, PartPlace } from '@quern/models';
import { BlockFolder } from '../engine/stored/block-folder.js';
import type { CopyOptions } from '../engine/stored/copied-prefix-blocks.js';
import { MemoryBlocks } from '../engine/stored/memory-blocks.js';
import { RuntimeError } from '../error.js';
import { cacheIdentity } from './cache-identity.js';
import { keepsCopies, type ResolvedLoadOptions } from './load-options.js';

/** Where copies of the cache's blocks are kept; undefined: nowhere. @throws RuntimeError BAD_OPTION */
export async function openCopies(
  file: ModelFile,
  places: readonly PartPlace[],
  cache: KvCache,
  options: ResolvedLoadOptions,
): Promise<CopyOptions | undefined> {
  if (!keepsCopies(options)) return undefined;
  const { cacheDir: path, cacheDirBytes: mostBytes, cacheMemory, onNotice } = options;
  needRoomForBlock(cacheMemory, cache);
  const identity = await cacheIdentity(file, places, cache);
  const form = { identity, cache };
  const folder = path === undefined ? undefined : await BlockFolder.open({ path, mostBytes, form, onNotice });
  const memory = cacheMemory === undefined ? undefined : new MemoryBlocks(cacheMemory);
  return { identity, folder, memory, onNotice };
}

function needRoomForBlock(cacheMemory: number | undefined, { blockBytes }: KvCache): void {
  if (cacheMemory !== undefined && cacheMemory < blockBytes)
    throw new RuntimeError(
      'BAD_OPTION',
      `cacheMemory is ${cacheMemory}, but one block of this model takes ${blockBytes} bytes: give more, or leave it out`,
    );
}
