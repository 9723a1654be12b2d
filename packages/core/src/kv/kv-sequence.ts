import { BackendError } from '../error.js';
import type { BlockPool } from './block-pool.js';

/** The tokens of one sequence in a cache: their number and their blocks. */
export class KvSequence {
  private blocks: number[] = [];
  private tokens = 0;
  private released = false;

  constructor(
    private readonly pool: BlockPool,
    private readonly blockSize: number,
    /** Maximum blocks per sequence: the width of block tables. */
    private readonly maxBlocks: number,
    /** Whole blocks in use: the first ones of this sequence. */
    prefix: readonly number[] = [],
  ) {
    if (prefix.length > maxBlocks)
      throw new BackendError(
        'BAD_ARGUMENT',
        `a sequence holds at most ${maxBlocks} blocks; its prefix has ${prefix.length}`,
      );
    const unused = prefix.find((block) => pool.holdersOf(block) === 0);
    if (unused !== undefined)
      throw new BackendError('BAD_ARGUMENT', `block ${unused} of the prefix is not in use`);
    for (const block of prefix) pool.share(block);
    this.blocks = [...prefix];
    this.tokens = prefix.length * blockSize;
  }

  /** Tokens with keys and values in the cache (or pending in a step that has not run). */
  get length(): number {
    return this.tokens;
  }

  /** Maximum tokens of the sequence. */
  get capacity(): number {
    return this.maxBlocks * this.blockSize;
  }

  get blockTable(): readonly number[] {
    return this.blocks;
  }

  /** Cache slot of a position, for kvAppend. */
  slot(position: number): number {
    return this.blocks[Math.floor(position / this.blockSize)]! * this.blockSize + (position % this.blockSize);
  }

  /** Free blocks that `append(count)` takes. */
  blocksFor(count: number): number {
    return Math.ceil((this.tokens + count) / this.blockSize) - this.blocks.length;
  }

  /**
   * Makes room for `count` more tokens. Throws OUT_OF_MEMORY (no free block) or BAD_ARGUMENT (over the capacity);
   * nothing changes then.
   */
  append(count: number): void {
    this.needLive();
    if (!(Number.isInteger(count) && count >= 0 && this.tokens + count <= this.capacity))
      throw new BackendError(
        'BAD_ARGUMENT',
        `a sequence of ${this.tokens} tokens cannot take ${count} more: it holds at most ${this.capacity}`,
      );
    this.blocks.push(...this.pool.allocate(this.blocksFor(count)));
    this.tokens += count;
  }

  /**
   * Forgets all tokens from `length` on and frees their blocks. If a cut block is shared with another sequence, this
   * sequence gives up the whole block, because the next token would overwrite the other sequence. The sequence may then
   * be shorter than `length`: read its `length`.
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
   * A new sequence that starts with the first `length` tokens of this one and shares their blocks. Only whole blocks
   * are shared. The new sequence may be shorter than `length`: read its `length`.
   */
  fork(length = this.tokens): KvSequence {
    this.needLive();
    this.needWithin('fork', length);
    const whole = this.blocks.slice(0, Math.floor(length / this.blockSize));
    return new KvSequence(this.pool, this.blockSize, this.maxBlocks, whole);
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
