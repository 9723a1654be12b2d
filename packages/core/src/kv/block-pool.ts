import { BackendError } from '../error.js';

/**
 * Owner of all blocks of a cache. A block is free or held by one or more sequences (shared prefixes). The count of free
 * blocks is exact at all times.
 */
export class BlockPool {
  private readonly free: number[];
  private readonly holders: Uint32Array;

  /** @param what of messages: what the pool has */
  constructor(
    readonly blocks: number,
    private readonly what = 'blocks',
  ) {
    if (!Number.isInteger(blocks) || blocks < 1)
      throw new BackendError('BAD_ARGUMENT', `a block pool needs at least one block; got ${blocks}`);
    this.free = Array.from({ length: blocks }, (_, i) => blocks - 1 - i);
    this.holders = new Uint32Array(blocks);
  }

  get freeBlocks(): number {
    return this.free.length;
  }

  /** Takes `count` free blocks, or throws OUT_OF_MEMORY and takes none. */
  allocate(count: number): number[] {
    if (count > this.free.length)
      throw new BackendError(
        'OUT_OF_MEMORY',
        `the cache has ${this.free.length} of ${this.blocks} ${this.what} free, but ${count} are needed; end a sequence or make the cache larger`,
      );
    const taken = count === 0 ? [] : this.free.splice(-count).reverse();
    for (const block of taken) this.holders[block] = 1;
    return taken;
  }

  /** Adds a holder to a block in use. */
  share(block: number): void {
    this.needHeld(block);
    this.holders[block]!++;
  }

  /** Removes a holder. The last holder frees the block. */
  release(block: number): void {
    this.needHeld(block);
    if (--this.holders[block]! === 0) this.free.push(block);
  }

  /** Number of sequences that hold a block; 0: free. */
  holdersOf(block: number): number {
    return this.holders[block] ?? 0;
  }

  private needHeld(block: number): void {
    if (!this.holders[block]) throw new BackendError('BAD_ARGUMENT', `block ${block} is not in use`);
  }
}
