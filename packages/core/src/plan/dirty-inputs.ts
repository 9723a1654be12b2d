import type { ByteRange, PlanWords } from '../driver.js';

/** The inputs of a plan, and which of their bytes have been written since a run took them. */
export class DirtyInputs {
  private readonly bytes: Uint8Array;
  /** Ascending; no two touch. */
  private dirty: ByteRange[];

  constructor(memory: ArrayBuffer) {
    this.bytes = new Uint8Array(memory);
    this.dirty = memory.byteLength > 0 ? [{ from: 0, to: memory.byteLength }] : [];
  }

  write(byteOffset: number, values: Uint8Array): void {
    this.bytes.set(values, byteOffset);
    this.mark(byteOffset, byteOffset + values.length);
  }

  /** Says that words were written by other means. */
  markWords({ byteOffset, count }: PlanWords): void {
    this.mark(byteOffset, byteOffset + 4 * count);
  }

  /** What has been written since the last call, or all. */
  take(): readonly ByteRange[] {
    const taken = this.dirty;
    if (taken.length > 0) this.dirty = [];
    return taken;
  }

  /** Joins a range with those that it touches. */
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
