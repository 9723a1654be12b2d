import type { KvCache, KvSequence } from '@quern/core';
import { RuntimeError } from '../error.js';
import { giveNotice, type NoticeListener } from '../notice.js';
import type { Lease, Parked } from './lease.js';
import { type Patience, Waiter } from './waiter.js';

class ParkedSequence implements Parked {
  held = true;

  constructor(
    private readonly pool: SequencePool,
    readonly sequence: KvSequence,
    readonly blocks: number,
  ) {}

  release(): void {
    this.pool.forget(this);
  }
}

/**
 * Shares a cache between calls. A call reserves blocks for its largest possible length, so a running call always has
 * room. Where blocks are short, parked sequences are dropped, least recently used first; then calls wait, first come,
 * first served.
 */
export class SequencePool {
  private readonly parked = new Set<ParkedSequence>();
  private waiting: Waiter<ParkedSequence>[] = [];
  private reserved = 0;
  /** Number of calls that hold a sequence. */
  private calls = 0;
  private ended = false;

  /** @param onNotice called when a call waits long */
  constructor(
    private readonly cache: KvCache,
    private readonly onNotice: NoticeListener,
  ) {}

  /** Blocks in no call and no parked sequence. */
  get freeBlocks(): number {
    return this.cache.blocks - this.reserved;
  }

  /**
   * A sequence with room for `tokens`: the parked one with its content if it still exists, else an empty one. Rejects
   * with ABORTED, BUSY or DISPOSED.
   */
  acquire(tokens: number, patience: Patience = {}, parked?: Parked): Promise<Lease> {
    if (this.ended) return Promise.reject(disposed());
    return new Promise((resolve, reject) => {
      const blocks = Math.ceil(tokens / this.cache.blockSize);
      const kept = parked instanceof ParkedSequence ? parked : undefined;
      const waiter = new Waiter(blocks, kept, resolve, reject);
      this.waiting.push(waiter);
      this.serve();
      if (!this.waiting.includes(waiter)) return;
      const giveUp = (error: RuntimeError) => this.giveUp(waiter, error);
      waiter.wait(patience, {
        onAbort: () => giveUp(new RuntimeError('ABORTED', 'aborted while waiting for room in the cache')),
        onLong: () => giveNotice(this.onNotice, `a call waits for room in the cache: ${this.wants(waiter)}`),
        onTimeout: (ms) =>
          giveUp(new RuntimeError('BUSY', `no room in the cache within ${ms} ms: ${this.wants(waiter)}`)),
      });
    });
  }

  /** Frees all parked sequences and rejects all waiting calls. */
  dispose(): void {
    this.ended = true;
    const { waiting } = this;
    this.waiting = [];
    for (const waiter of waiting) waiter.fail(disposed());
    for (const parked of [...this.parked]) this.drop(parked);
  }

  forget(parked: ParkedSequence): void {
    if (!parked.held) return;
    this.drop(parked);
    this.serve();
  }

  private serve(): void {
    for (let waiter = this.waiting[0]; waiter; waiter = this.waiting[0]) {
      const own = waiter.parked?.held ? waiter.parked.blocks : 0;
      if (!this.hasRoom(waiter.blocks - own, waiter.parked)) return;
      this.waiting.shift();
      waiter.serve(this.lease(waiter, own));
    }
  }

  /** Frees `blocks` by dropping parked sequences, except `kept`. False, without a drop, where that cannot suffice. */
  private hasRoom(blocks: number, kept: ParkedSequence | undefined): boolean {
    const others = [...this.parked].filter((parked) => parked !== kept);
    const possible = others.reduce((sum, parked) => sum + parked.blocks, this.freeBlocks);
    if (blocks > possible) return false;
    for (const parked of others) {
      if (blocks <= this.freeBlocks) break;
      this.drop(parked);
    }
    return true;
  }

  private drop(parked: ParkedSequence): void {
    this.parked.delete(parked);
    parked.held = false;
    parked.sequence.release();
    this.reserved -= parked.blocks;
  }

  private lease({ blocks: wanted, parked }: Waiter<ParkedSequence>, own: number): Lease {
    const held = parked?.held ? parked : undefined;
    if (held) {
      this.parked.delete(held);
      held.held = false;
    }
    const blocks = Math.max(wanted, own);
    this.reserved += blocks - own;
    return this.leaseOf(held?.sequence ?? this.cache.sequence(), blocks);
  }

  private leaseOf(sequence: KvSequence, blocks: number): Lease {
    let open = true;
    this.calls++;
    const close = (kept: number) => {
      open = false;
      this.calls--;
      this.giveBack(blocks - kept);
    };
    return {
      sequence,
      release: () => {
        if (!open) return;
        sequence.release();
        close(0);
      },
      park: () => {
        const parked = new ParkedSequence(this, sequence, sequence.blockTable.length);
        this.parked.add(parked);
        close(parked.blocks);
        if (this.ended) this.forget(parked);
        return parked;
      },
    };
  }

  private giveBack(blocks: number): void {
    this.reserved -= blocks;
    this.serve();
  }

  private giveUp(waiter: Waiter<ParkedSequence>, error: RuntimeError): void {
    this.waiting = this.waiting.filter((other) => other !== waiter);
    waiter.fail(error);
    this.serve();
  }

  /** Part of messages: what the call waits for, which calls hold the blocks, and advice. */
  private wants(waiter: Waiter<ParkedSequence>): string {
    const { blockSize, blocks } = this.cache;
    const parked = [...this.parked].reduce((sum, each) => sum + each.blocks, 0);
    const held = (this.reserved - parked) * blockSize;
    const calls = this.calls === 1 ? '1 call holds' : `${this.calls} calls hold`;
    const before = this.waiting.indexOf(waiter);
    return (
      `it needs ${waiter.blocks * blockSize} tokens of context, and ${calls} ${held} of ${blocks * blockSize}` +
      `${before > 0 ? `, with ${before} more before it` : ''}. What helps: read generations to their end or leave ` +
      "their loops; a smaller `maxTokens`; `sequences` or `cache: 'paged'` when the model is loaded"
    );
  }
}

const disposed = () => new RuntimeError('DISPOSED', 'the model has been disposed');
