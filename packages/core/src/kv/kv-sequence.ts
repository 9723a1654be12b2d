import { BackendError } from '../error.js';
import type { BlockPool } from './block-pool.js';
import type { SequenceStates } from './sequence-states.js';

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
    /** Of caches with states. */
    private readonly kept?: SequenceStates,
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

  /** Of caches with states: the state that the last appended tokens read, and the one that they write. −1: none. */
  get states(): readonly [read: number, write: number] | undefined {
    return this.kept?.places;
  }

  /** The state after `length` tokens, if the sequence keeps it. */
  stateAt(length: number): number | undefined {
    return this.kept?.stateAt(length);
  }

  /** The lengths for which it keeps states, its own the last. */
  get statePositions(): readonly number[] {
    return this.kept?.positions ?? [];
  }

  /** Keeps the state after `length` tokens no longer, unless it is the present one. */
  leaveState(length: number): void {
    this.kept?.leave(length);
  }

  /** Free states that the next `append` takes at least. */
  get statesNeeded(): number {
    return this.kept?.needed ?? 0;
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
   * @param keepState of caches with states: keep the state before these tokens, if there is a free one, so that the
   * sequence can be cut to it
   */
  append(count: number, keepState = false): void {
    this.needLive();
    if (!(Number.isInteger(count) && count >= 0 && this.tokens + count <= this.capacity))
      throw new BackendError(
        'BAD_ARGUMENT',
        `a sequence of ${this.tokens} tokens cannot take ${count} more: it holds at most ${this.capacity}`,
      );
    const blocks = this.pool.allocate(this.blocksFor(count));
    try {
      if (count > 0) this.kept?.append(this.tokens + count, keepState);
    } catch (error) {
      for (const block of blocks) this.pool.release(block);
      throw error;
    }
    this.blocks.push(...blocks);
    this.tokens += count;
  }

  /**
   * Forgets all tokens from `length` on and frees their blocks. If a cut block is shared with another sequence, this
   * sequence gives up the whole block, because the next token would overwrite the other sequence. In a cache with states
   * it ends at a state that it keeps. The sequence may then be shorter than `length`: read its `length`.
   */
  truncate(length: number): void {
    this.needLive();
    this.needWithin('cut', length);
    this.cutBlocks(length);
    while (this.kept && this.kept.lastAt(this.tokens) < this.tokens)
      this.cutBlocks(this.kept.lastAt(this.tokens));
    this.kept?.cut(this.tokens);
  }

  /** Where `truncate(length)` ends: in a cache with states at the last one that it keeps. */
  lengthAfterCut(length: number): number {
    return this.kept && length < this.tokens ? this.kept.lastAt(length) : Math.min(length, this.tokens);
  }

  /**
   * The last appended tokens were computed up to `length` alone, as where a chain ends early: forgets the others. Unlike
   * `truncate`, the present state stays: it is the one after `length` tokens.
   */
  endAt(length: number): void {
    this.needLive();
    this.needWithin('end', length);
    this.cutBlocks(length);
    this.kept?.endAt(this.tokens);
  }

  private cutBlocks(length: number): void {
    const whole = Math.floor(length / this.blockSize);
    const last = length % this.blockSize === 0 ? undefined : this.blocks[whole];
    const keepsLast = last !== undefined && this.pool.holdersOf(last) === 1;
    for (const block of this.blocks.splice(keepsLast ? whole + 1 : whole)) this.pool.release(block);
    this.tokens = keepsLast ? length : whole * this.blockSize;
  }

  /**
   * A new sequence that starts with the first `length` tokens of this one and shares their blocks. Only whole blocks
   * are shared, and in a cache with states those up to a state that this one keeps. The new sequence may be shorter than
   * `length`: read its `length`.
   */
  fork(length = this.tokens): KvSequence {
    this.needLive();
    this.needWithin('fork', length);
    let whole = Math.floor(length / this.blockSize);
    while (this.kept && whole > 0 && this.kept.stateAt(whole * this.blockSize) === undefined) whole--;
    const states = this.kept?.from(whole * this.blockSize);
    return new KvSequence(this.pool, this.blockSize, this.maxBlocks, this.blocks.slice(0, whole), states);
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
