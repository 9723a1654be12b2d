import type { KvCache, KvSequence } from '@quern/core';
import { RuntimeError } from '../error.js';

/** A sequence in use, with the blocks that are reserved for it: growing to them cannot fail. */
export interface Lease {
  readonly sequence: KvSequence;
  /** Frees the sequence. */
  release(): void;
  /** Keeps what it holds for a later call; others may take the blocks meanwhile. */
  park(): Parked;
}

/** A sequence nobody uses now. Its content is there until its blocks are needed elsewhere. */
export interface Parked {
  readonly held: boolean;
  release(): void;
}

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

interface Waiter {
  readonly blocks: number;
  readonly parked: ParkedSequence | undefined;
  readonly resolve: (lease: Lease) => void;
  readonly reject: (error: RuntimeError) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: () => void;
}

/**
 * Shares a cache between calls. A call reserves blocks for all the tokens it may come to, so none runs out midway; when
 * there are too few, parked sequences are dropped, longest unused first, and then calls wait, first come first served.
 */
export class SequencePool {
  private readonly parked = new Set<ParkedSequence>();
  private waiting: Waiter[] = [];
  private reserved = 0;
  private ended = false;

  constructor(private readonly cache: KvCache) {}

  /** Blocks that neither a call nor a parked sequence holds. */
  get freeBlocks(): number {
    return this.cache.blocks - this.reserved;
  }

  /**
   * A sequence with room for `tokens`; the parked one with what it holds if it is still there, else an empty one.
   * Rejects with ABORTED or DISPOSED.
   */
  acquire(tokens: number, parked?: Parked, signal?: AbortSignal): Promise<Lease> {
    if (this.ended) return Promise.reject(disposed());
    return new Promise((resolve, reject) => {
      const onAbort = () => this.giveUp(waiter);
      const waiter: Waiter = {
        blocks: Math.ceil(tokens / this.cache.blockSize),
        parked: parked instanceof ParkedSequence ? parked : undefined,
        resolve,
        reject,
        signal,
        onAbort,
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.waiting.push(waiter);
      this.serve();
    });
  }

  /** Ends what is parked and whoever waits. */
  dispose(): void {
    this.ended = true;
    for (const waiter of this.waiting) {
      waiter.signal?.removeEventListener('abort', waiter.onAbort);
      waiter.reject(disposed());
    }
    this.waiting = [];
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
      waiter.signal?.removeEventListener('abort', waiter.onAbort);
      waiter.resolve(this.lease(waiter, own));
    }
  }

  /** Whether `blocks` can be had; drops parked sequences, all but `kept`, until they are free. */
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

  private lease({ blocks: wanted, parked }: Waiter, own: number): Lease {
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
    const close = (kept: number) => {
      open = false;
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

  private giveUp(waiter: Waiter): void {
    this.waiting = this.waiting.filter((other) => other !== waiter);
    waiter.reject(new RuntimeError('ABORTED', 'aborted while waiting for room in the cache'));
    this.serve();
  }
}

const disposed = () => new RuntimeError('DISPOSED', 'the model has been disposed');
