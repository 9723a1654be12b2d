import { type ByteSet, hasByte } from './byte-set.js';

const ROW = 256;
const FIRST_ROWS = 64;

/** Where each byte leads from a state, as far as it is known. One block of rows: small arrays of their own cost more than their content. */
export class Transitions {
  private block: Int32Array;
  /** By state: where its row begins. */
  private begins: (number | undefined)[];
  private used: number;

  constructor(base?: Transitions) {
    this.block = base?.block.slice() ?? new Int32Array(FIRST_ROWS * ROW);
    this.begins = [...(base?.begins ?? [])];
    this.used = base?.used ?? 0;
  }

  /** The bytes of known rows. */
  get size(): number {
    return this.used * Int32Array.BYTES_PER_ELEMENT;
  }

  /** -1: unknown. */
  get(state: number, byte: number): number {
    const begin = this.begins[state];
    return begin === undefined ? -1 : (this.block[begin + byte] as number);
  }

  /** Notes where `byte` leads, and its neighbours up to the next of `cuts`. */
  set(state: number, byte: number, cuts: ByteSet, next: number): void {
    const begin = this.begins[state] ?? this.add(state);
    let low = byte;
    while (low > 0 && !hasByte(cuts, low)) low--;
    let high = byte + 1;
    while (high < ROW && !hasByte(cuts, high)) high++;
    this.block.fill(next, begin + low, begin + high);
  }

  /** Nothing is known any more. */
  clear(): void {
    this.block = new Int32Array(FIRST_ROWS * ROW);
    this.begins = [];
    this.used = 0;
  }

  private add(state: number): number {
    const begin = this.used;
    this.used += ROW;
    if (this.used > this.block.length) {
      const larger = new Int32Array(2 * this.block.length);
      larger.set(this.block);
      this.block = larger;
    }
    this.block.fill(-1, begin, this.used);
    this.begins[state] = begin;
    return begin;
  }
}
