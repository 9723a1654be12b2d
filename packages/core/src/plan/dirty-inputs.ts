import type { ByteRange, PlanWords } from '../driver.js';

/** The inputs of a plan, and the bytes written since the last run took them. */
export class DirtyInputs {
  private readonly bytes: Uint8Array;
  /** Ascending, disjoint, not adjacent. */
  private dirty: ByteRange[];

  constructor(memory: ArrayBuffer) {
    this.bytes = new Uint8Array(memory);
    this.dirty = memory.byteLength > 0 ? [{ from: 0, to: memory.byteLength }] : [];
  }

  write(byteOffset: number, values: Uint8Array): void {
    this.bytes.set(values, byteOffset);
    this.mark(byteOffset, byteOffset + values.length);
  }

  /** Marks words that were written elsewhere. */
  markWords({ byteOffset, count }: PlanWords): void {
    this.mark(byteOffset, byteOffset + 4 * count);
  }

  /** Bytes written since the last call; all bytes at the first call. */
  take(): readonly ByteRange[] {
    const taken = this.dirty;
    if (taken.length > 0) this.dirty = [];
    return taken;
  }

  /** Merges a range with the ranges it touches. */
  private mark(from: number, to: number): void {
    if (from === to) return;
    const { dirty } = this;
    let first = dirty.length;
    while (first > 0 && dirty[first - 1]!.to >= from) first--;
    let end = first;
    while (end < dirty.length && dirty[end]!.from <= to) end++;
    const joined = dirty.slice(first, end);
    const range = {
      from: Math.min(from, joined[0]?.from ?? from),
      to: Math.max(to, joined.at(-1)?.to ?? to),
    };
    dirty.splice(first, end - first, range);
  }
}
