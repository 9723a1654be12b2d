/**
 * Candidate pairs for a merge, best first: lowest rank; of equal ranks, leftmost. A binary heap of indices into
 * parallel arrays.
 */
export class PairQueue {
  private readonly ranks: number[] = [];
  private readonly lefts: number[] = [];
  private readonly rights: number[] = [];
  private readonly ends: number[] = [];
  private readonly heap: number[] = [];

  /** Adds the pair of the symbols [left, right) and [right, end). */
  push(rank: number, left: number, right: number, end: number): void {
    const entry = this.ranks.push(rank) - 1;
    this.lefts.push(left);
    this.rights.push(right);
    this.ends.push(end);
    this.siftUp(entry);
  }

  /** Removes the best pair and returns it. */
  pop(): { left: number; right: number; end: number; rank: number } | undefined {
    const entry = this.heap[0];
    if (entry === undefined) return undefined;
    const last = this.heap.pop()!;
    if (this.heap.length > 0) this.siftDown(last);
    const rank = this.ranks[entry]!;
    return { left: this.lefts[entry]!, right: this.rights[entry]!, end: this.ends[entry]!, rank };
  }

  private siftUp(entry: number): void {
    let at = this.heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(entry, this.heap[parent]!)) break;
      this.heap[at] = this.heap[parent]!;
      at = parent;
    }
    this.heap[at] = entry;
  }

  private siftDown(entry: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.heap.length) break;
      if (child + 1 < this.heap.length && this.isBefore(this.heap[child + 1]!, this.heap[child]!)) child++;
      if (!this.isBefore(this.heap[child]!, entry)) break;
      this.heap[at] = this.heap[child]!;
      at = child;
    }
    this.heap[at] = entry;
  }

  private isBefore(a: number, b: number): boolean {
    const difference = this.ranks[a]! - this.ranks[b]!;
    return difference !== 0 ? difference < 0 : this.lefts[a]! < this.lefts[b]!;
  }
}
