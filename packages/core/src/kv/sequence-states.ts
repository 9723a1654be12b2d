import type { BlockPool } from './block-pool.js';

/** A state after the first `at` tokens of its sequence. */
export interface StatePoint {
  readonly at: number;
  readonly state: number;
}

/** Earlier states that a sequence keeps for itself. */
const mostKept = 1;

/** The states of one sequence in a cache: the present one, and earlier ones to which it can be cut. */
export class SequenceStates {
  /** By position; the last one is the present. */
  private points: StatePoint[];
  private step: readonly [read: number, write: number];

  /** @param first the state of a prefix, which others hold too */
  constructor(
    private readonly pool: BlockPool,
    first?: StatePoint,
  ) {
    if (first) pool.share(first.state);
    this.points = first ? [first] : [];
    this.step = [first?.state ?? -1, -1];
  }

  /** The state that the last appended tokens read, and the one that they write. −1: none. */
  get places(): readonly [read: number, write: number] {
    return this.step;
  }

  /** Free states that `append` takes at least. */
  get needed(): number {
    const last = this.points.at(-1);
    return !last || this.pool.holdersOf(last.state) > 1 ? 1 : 0;
  }

  /** The state after `at` tokens, if the sequence keeps it. */
  stateAt(at: number): number | undefined {
    return this.points.find((point) => point.at === at)?.state;
  }

  /** The last position of at most `length` tokens with a state; 0: none. */
  lastAt(length: number): number {
    return this.points.findLast(({ at }) => at <= length)?.at ?? 0;
  }

  /**
   * The tokens go on to `end`. A state that others hold is not written: the step writes another. `keep`: neither is the
   * present one, if a state is free. Throws OUT_OF_MEMORY.
   */
  append(end: number, keep: boolean): void {
    const last = this.points.at(-1);
    const moves = this.needed > 0 || (keep && this.pool.freeBlocks > 0);
    const state = moves ? this.pool.allocate(1)[0]! : last!.state;
    this.step = [last?.state ?? -1, state];
    if (!moves) this.points.pop();
    this.points.push({ at: end, state });
    while (this.points.length > 1 + mostKept) this.pool.release(this.points.shift()!.state);
  }

  /** The positions of the states that it keeps, the present one last. */
  get positions(): readonly number[] {
    return this.points.map(({ at }) => at);
  }

  /** Keeps the state after `at` tokens no longer, unless it is the present one. */
  leave(at: number): void {
    const i = this.points.findIndex((point) => point.at === at);
    if (i >= 0 && i < this.points.length - 1) this.pool.release(this.points.splice(i, 1)[0]!.state);
  }

  /** The step under way ended early: the present state is the one after `length` tokens. */
  endAt(length: number): void {
    const last = this.points.pop();
    if (last) this.points.push({ ...last, at: length });
  }

  /** States of a sequence that starts with the first `at` tokens of this one. */
  from(at: number): SequenceStates {
    return new SequenceStates(
      this.pool,
      this.points.find((point) => point.at === at),
    );
  }

  /** Forgets the states after `length` tokens. */
  cut(length: number): void {
    const isAfter = () => (this.points.at(-1)?.at ?? 0) > length;
    if (!isAfter()) return;
    while (isAfter()) this.pool.release(this.points.pop()!.state);
    this.step = [this.points.at(-1)?.state ?? -1, -1];
  }
}
