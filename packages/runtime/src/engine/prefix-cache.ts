import type { KvCache } from '@quern/core';
import type { OffloadedBlock, PrefixBlock, PrefixHolder } from './prefix-block.js';

/**
 * The known blocks of the cache: sequences with equal prefixes share them, also while the first one computes them. Blocks
 * that no sequence holds stay until `evict`. The last blocks of a prefix are evicted before the first ones, because a sequence gives
 * its blocks back in this order.
 */
export class PrefixCache {
  protected readonly blocks = new Map<string, PrefixBlock>();
  /** Blocks without users, least recently used first. */
  protected readonly idle = new Set<PrefixBlock>();
  /** Key of the next block of each sequence that computes a prompt. */
  protected readonly computing = new Map<string, PrefixHolder>();
  private readonly nextKeys = new Map<PrefixHolder, string>();
  /** Those with a state, least recently used first. */
  private readonly stateful = new Set<PrefixBlock>();
  private lastId = 0;

  constructor(protected readonly cache: KvCache) {}

  /** Known blocks of no sequence. */
  get idleBlocks(): number {
    return this.idle.size;
  }

  /** Blocks that `evict` can free now. */
  get evictableBlocks(): number {
    return this.idleBlocks;
  }

  /** Whether blocks are being restored for the holder: `begin` must wait. */
  isPreparing(_holder: PrefixHolder): boolean {
    return false;
  }

  /**
   * Starts the holder's sequence with the longest known prefix of its tokens; at least one token stays to be computed.
   * False: another sequence computes the next block at this moment, ask again after its step; or blocks are being restored.
   */
  begin(holder: PrefixHolder): boolean {
    if (!holder.reuse) return true;
    const found = this.find(holder);
    const next = this.keyAfter(found.at(-1), holder, found.length);
    if (next !== undefined && this.computing.has(next)) return false;
    for (const block of found) this.take(block);
    const last = found.at(-1);
    if (last?.state !== undefined) this.refresh(last);
    holder.kv = this.cache.sequence(
      found.map(({ block }) => block),
      last?.state,
    );
    holder.known.push(...found);
    this.expect(holder, next);
    return true;
  }

  /** The holder's computed tokens become known. */
  learn(holder: PrefixHolder): void {
    const { known, tokens, computed, reuse } = holder;
    if (!reuse) return;
    const whole = Math.floor(Math.min(tokens.length, computed) / this.cache.blockSize);
    while (known.length < whole) known.push(this.add(holder, known.length));
    this.learnStates(holder);
    this.expect(holder, this.keyAfter(known.at(-1), holder, known.length));
  }

  /** The holder gives up its tokens from `length` on. Call before the sequence is cut. */
  cut(holder: PrefixHolder, length: number): void {
    const { known, kv } = holder;
    const kept = Math.floor(length / this.cache.blockSize);
    this.expect(holder, undefined);
    for (let i = known.length - 1; i >= kept; i--) this.leave(known[i]!, kv.blockTable[i]);
    known.length = Math.min(known.length, kept);
  }

  /** Ends the holder's sequence. Its tokens stay known until their blocks are evicted. */
  release(holder: PrefixHolder): void {
    this.learn(holder);
    this.expect(holder, undefined);
    this.cut(holder, 0);
    holder.kv.release();
  }

  /** Frees up to `blocks` blocks, least recently used first. */
  evict(blocks: number): void {
    for (const block of this.idle) {
      if (blocks <= 0) return;
      if (!this.mayEvict(block)) continue;
      blocks--;
      this.idle.delete(block);
      this.blocks.delete(block.key);
      this.dropState(block);
      this.cache.drop(block.block);
    }
  }

  /** Whether `evictState` can free one. */
  get hasEvictableStates(): boolean {
    for (const { state } of this.stateful) if (this.cache.stateHolders(state!) === 1) return true;
    return false;
  }

  /** Frees the state of a prefix, the least recently used one; false where there is none. */
  evictState(): boolean {
    for (const block of this.stateful) {
      if (this.cache.stateHolders(block.state!) > 1) continue;
      this.dropState(block);
      return true;
    }
    return false;
  }

  /** The holder alone keeps its present state: its next step writes in place. False where another sequence has it too. */
  yieldState({ known, kv }: PrefixHolder): boolean {
    const state = kv.stateAt(kv.length);
    const block = known[kv.length / this.cache.blockSize - 1];
    if (state === undefined || block?.state !== state || this.cache.stateHolders(state) > 2) return false;
    this.dropState(block);
    return true;
  }

  /** Keeps the states that a holder has at the ends of its known blocks. */
  private learnStates({ known, computed, kv }: PrefixHolder): void {
    for (const at of kv.statePositions) {
      const block =
        at <= computed && at % this.cache.blockSize === 0 ? known[at / this.cache.blockSize - 1] : undefined;
      if (!block) continue;
      if (block.state === undefined) this.keepState(block, kv.stateAt(at)!);
      kv.leaveState(at);
      this.refresh(block);
    }
  }

  private keepState(block: PrefixBlock, state: number): void {
    this.cache.holdState(state);
    block.state = state;
  }

  private refresh(block: PrefixBlock): void {
    this.stateful.delete(block);
    this.stateful.add(block);
  }

  private dropState(block: PrefixBlock): void {
    if (block.state === undefined) return;
    this.stateful.delete(block);
    this.cache.dropState(block.state);
    block.state = undefined;
  }

  /**
   * The known blocks at the start of the tokens, without the block of the last token; in a cache with states, up to the last
   * one with a state.
   */
  protected find(holder: PrefixHolder): PrefixBlock[] {
    const found = this.findBlocks(holder);
    while (this.cache.hasStates && found.length > 0 && found.at(-1)!.state === undefined) found.pop();
    return found;
  }

  private findBlocks(holder: PrefixHolder): PrefixBlock[] {
    const found: PrefixBlock[] = [];
    for (;;) {
      const key = this.keyAfter(found.at(-1), holder, found.length);
      const block = key === undefined ? undefined : this.blocks.get(key);
      if (!block) return found;
      found.push(block);
    }
  }

  /** Key of block `index`, if the tokens go on after it. */
  protected keyAfter(
    before: PrefixBlock | undefined,
    { tokens, root }: PrefixHolder,
    index: number,
  ): string | undefined {
    const { blockSize } = this.cache;
    const end = (index + 1) * blockSize;
    return end < tokens.length ? keyOf(before, root, tokens.slice(end - blockSize, end)) : undefined;
  }

  /** Block `index` of a holder becomes known. Where another sequence was first, its block stays the known one. */
  private add(holder: PrefixHolder, index: number): PrefixBlock {
    const { known, tokens, kv, root } = holder;
    const { blockSize } = this.cache;
    const key = keyOf(known[index - 1], root, tokens.slice(index * blockSize, (index + 1) * blockSize));
    const other = this.blocks.get(key);
    if (other) return other;
    const place = kv.blockTable[index]!;
    this.cache.hold(place);
    return this.know(key, place, this.offloadedOf(holder, known[index - 1], index));
  }

  /** A held block becomes known, with one user. */
  protected know(key: string, place: number, offloaded: OffloadedBlock | undefined): PrefixBlock {
    const block = { id: ++this.lastId, key, block: place, users: 1, ...(offloaded && { offloaded }) };
    this.blocks.set(key, block);
    return block;
  }

  /** Block `index` of a holder outside of the device, where blocks are offloaded. */
  protected offloadedOf(
    _holder: PrefixHolder,
    _before: PrefixBlock | undefined,
    _index: number,
  ): OffloadedBlock | undefined {
    return undefined;
  }

  protected mayEvict(_block: PrefixBlock): boolean {
    return true;
  }

  protected take(block: PrefixBlock): void {
    block.users++;
    this.idle.delete(block);
  }

  protected leave(block: PrefixBlock, held: number | undefined): void {
    if (block.block !== held) return; // an equal block of another sequence
    if (--block.users === 0) this.idle.add(block);
  }

  /** Records the key of the block that the holder computes next. */
  protected expect(holder: PrefixHolder, key: string | undefined): void {
    const before = this.nextKeys.get(holder);
    if (before === key) return;
    if (before !== undefined && this.computing.get(before) === holder) this.computing.delete(before);
    if (key === undefined) {
      this.nextKeys.delete(holder);
      return;
    }
    this.nextKeys.set(holder, key);
    this.computing.set(key, holder);
  }
}

const keyOf = (before: PrefixBlock | undefined, root: string, tokens: readonly number[]): string =>
  `${before?.id ?? root}:${tokens.join()}`;
