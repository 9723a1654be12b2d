/** Number of occurrences of each token among the last `window` accepted ones; window -1: among all. */
export class RecentTokens {
  private readonly counts = new Map<number, number>();
  private readonly ring: Int32Array;
  private accepted = 0;

  constructor(private readonly window: number) {
    this.ring = new Int32Array(Math.max(0, window));
  }

  accept(token: number): void {
    if (this.window === 0) return;
    if (this.window > 0) this.replaceOldest(token);
    this.counts.set(token, (this.counts.get(token) ?? 0) + 1);
    this.accepted++;
  }

  /** A copy with `tokens` appended. */
  with(tokens: readonly number[]): RecentTokens {
    const copy = new RecentTokens(this.window);
    for (const [token, count] of this.counts) copy.counts.set(token, count);
    copy.ring.set(this.ring);
    copy.accepted = this.accepted;
    for (const token of tokens) copy.accept(token);
    return copy;
  }

  /** Number of tokens that count, with repetitions. */
  get length(): number {
    return this.window < 0 ? this.accepted : Math.min(this.accepted, this.window);
  }

  /** Writes every token as often as it occurs; returns `length`. */
  write(into: Int32Array): number {
    let at = 0;
    for (const [token, count] of this.counts) {
      into.fill(token, at, at + count);
      at += count;
    }
    return at;
  }

  /** [token, occurrences] */
  entries(): IterableIterator<[number, number]> {
    return this.counts.entries();
  }

  private replaceOldest(token: number): void {
    const slot = this.accepted % this.window;
    if (this.accepted >= this.window) this.forget(this.ring[slot]!);
    this.ring[slot] = token;
  }

  private forget(token: number): void {
    const left = this.counts.get(token)! - 1;
    if (left === 0) this.counts.delete(token);
    else this.counts.set(token, left);
  }
}
