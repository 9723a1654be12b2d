import type { KvCache, KvSequence } from '@quern/core';
import type { Prefixes, PrefixHolder } from './prefixes.js';

/** The sequence of an ended call, and its tokens. */
interface Ended {
  readonly sequence: KvSequence;
  readonly tokens: readonly number[];
  readonly root: string;
}

/**
 * The known sequences of a contiguous cache: one block each, so nothing can be shared. A call takes over the ended
 * sequence with the longest common prefix, and the rest of that sequence is lost. It begins anew where a block is free
 * and less than half of that sequence could be kept.
 */
export class PrefixSequences implements Prefixes {
  /** Least recently used first. */
  private readonly ended = new Set<Ended>();

  constructor(private readonly cache: KvCache) {}

  get idleBlocks(): number {
    return this.ended.size;
  }

  get evictableBlocks(): number {
    return this.idleBlocks;
  }

  isPreparing(): boolean {
    return false;
  }

  begin(holder: PrefixHolder): boolean {
    const { found, common } = this.longest(holder);
    const loses = found !== undefined && 2 * common < found.tokens.length;
    if (!found || (loses && this.cache.freeBlocks > 0)) {
      holder.sequence = this.cache.sequence();
      return true;
    }
    this.ended.delete(found);
    found.sequence.truncate(common);
    holder.sequence = found.sequence;
    return true;
  }

  learn(): void {}

  cut(): void {}

  release({ sequence, tokens, computed, reuse, root }: PrefixHolder): void {
    const length = Math.min(computed, tokens.length);
    sequence.truncate(length);
    if (reuse && length > 0) this.ended.add({ sequence, tokens: tokens.slice(0, length), root });
    else sequence.release();
  }

  evict(blocks: number): void {
    for (const each of this.ended) {
      if (blocks-- <= 0) return;
      this.ended.delete(each);
      each.sequence.release();
    }
  }

  private longest({ tokens, reuse, root }: PrefixHolder): { found: Ended | undefined; common: number } {
    let [found, common]: [Ended | undefined, number] = [undefined, 0];
    if (!reuse) return { found, common };
    for (const each of this.ended) {
      const length = each.root === root ? commonLength(each.tokens, tokens) : 0;
      if (length > common) [found, common] = [each, length];
    }
    return { found, common };
  }
}

/** Length of the common prefix; at least one of `wanted` is left. */
function commonLength(held: readonly number[], wanted: readonly number[]): number {
  const most = Math.min(held.length, wanted.length - 1);
  let length = 0;
  while (length < most && held[length] === wanted[length]) length++;
  return length;
}
