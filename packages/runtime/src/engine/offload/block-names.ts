import { createHash } from 'node:crypto';
import { noAdapters } from '../adapter-use.js';

/**
 * Names of blocks by their content: SHA-256 over the name of the block before and the block's tokens. The first name of
 * a chain stands for what all values depend on: model, form of the cache, adapters.
 */
export class BlockNames {
  private readonly first: string;

  /** @param identity see `cacheIdentity` */
  constructor(private readonly identity: string) {
    this.first = hash(identity, noAdapters);
  }

  /** Name of the block with these tokens after the block `before`, or the first one under `root`. */
  after(before: string | undefined, root: string, tokens: readonly number[]): string {
    const chain = before ?? (root === noAdapters ? this.first : hash(this.identity, root));
    return hash(chain, new Uint8Array(Int32Array.from(tokens).buffer));
  }
}

const hash = (...parts: readonly (string | Uint8Array)[]): string => {
  const made = createHash('sha256');
  for (const part of parts) made.update(part);
  return made.digest('hex');
};
