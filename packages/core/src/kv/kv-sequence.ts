import { BackendError } from '../error.js';
import type { BlockPool } from './block-pool.js';

/** The tokens of one sequence in a cache: how many there are, and in which blocks. */
export class KvSequence {
  private blocks: number[] = [];
  private tokens = 0;
  private released = false;

  constructor(
    private readonly pool: BlockPool,
    private readonly blockSize: number,
    /** Most blocks a sequence may hold: the width of block tables. */
    private readonly maxBlocks: number,
  ) {}

  /** Tokens whose keys and values are in the cache (or will be once the step that appends them has run). */
  get length(): number {
    return this.tokens;
  }

  /** Most tokens the sequence can hold. */
  get capacity(): number {
    return this.maxBlocks * this.blockSize;
  }

  get blockTable(): readonly number[] {
    return this.blocks;
  }

  /** The slot of a token's position, for kvAppend. */
  slot(position: number): number {
    return this.blocks[Math.floor(position / this.blockSize)]! * this.blockSize + (position % this.blockSize);
  }

  /** Makes room for `count` more tokens. Throws OUT_OF_MEMORY (no free block) or BAD_ARGUMENT (past the capacity); then nothing changes. */
  append(count: number): void {
    this.needLive();
    if (!(Number.isInteger(count) && count >= 0 && this.tokens + count <= this.capacity))
      throw new BackendError(
        'BAD_ARGUMENT',
        `a sequence of ${this.tokens} tokens cannot take ${count} more: it holds at most ${this.capacity}`,
      );
    const wanted = Math.ceil((this.tokens + count) / this.blockSize);
    this.blocks.push(...this.pool.allocate(wanted - this.blocks.length));
    this.tokens += count;
  }

  /**
   * Forgets all tokens from `length` on, and frees the blocks that held only those. A block that is cut through while
   * another sequence holds it too is given up whole, since the next token would be written over the other's; so the
   * sequence may become shorter than `length`: its `length` says what it has.
   */
  truncate(length: number): void {
    this.needLive();
    this.needWithin('cut', length);
    const whole = Math.floor(length / this.blockSize);
    const last = length % this.blockSize === 0 ? undefined : this.blocks[whole];
    const keepsLast = last !== undefined && this.pool.holdersOf(last) === 1;
    for (const block of this.blocks.splice(keepsLast ? whole + 1 : whole)) this.pool.release(block);
    this.tokens = keepsLast ? length : whole * this.blockSize;
  }

  /**
   * A new sequence that starts with this one's first `length` tokens and shares their blocks. Only whole blocks are
   * shared, so the new sequence may be shorter than `length`: its `length` says what it has.
   */
  fork(length = this.tokens): KvSequence {
    this.needLive();
    this.needWithin('fork', length);
    const whole = Math.floor(length / this.blockSize);
    const child = new KvSequence(this.pool, this.blockSize, this.maxBlocks);
    child.blocks = this.blocks.slice(0, whole);
    for (const block of child.blocks) this.pool.share(block);
    child.tokens = whole * this.blockSize;
    return child;
  }

  /** Gives all blocks back; the sequence cannot be used again. Releasing twice is harmless. */
  release(): void {
    if (this.released) return;
    this.truncate(0);
    this.released = true;
  }

  private needWithin(what: string, length: number): void {
    if (!(Number.isInteger(length) && length >= 0 && length <= this.tokens))
      throw new BackendError(
        'BAD_ARGUMENT',
        `cannot ${what} a sequence of ${this.tokens} tokens at ${length}`,
      );
  }

  private needLive(): void {
    if (this.released) throw new BackendError('DISPOSED', 'the sequence has been released');
  }
}
