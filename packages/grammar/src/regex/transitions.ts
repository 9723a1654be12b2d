import { setAt } from '../set-at.js';
import { type ByteSet, hasByte } from './byte-set.js';

const ROW = 256;
const SHIFT = 14;
const BLOCK = 1 << SHIFT; // 64 rows

/**
 * Where each byte leads from a state, as far as it is known. In blocks of 64 rows: small arrays of their own cost more than
 * their content, and a large one is copied for too long where it grows.
 */
export class Transitions {
  private blocks: Int32Array[];
  /** By state: where its row begins. */
  private begins: (number | undefined)[];
  private used: number;

  constructor(base?: Transitions) {
    this.blocks = base?.blocks.map((block) => block.slice()) ?? [];
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
    if (begin === undefined) return -1;
    return (this.blocks[begin >>> SHIFT] as Int32Array)[(begin & (BLOCK - 1)) + byte] as number;
  }

  /** Notes where `byte` leads, and its neighbours up to the next of `cuts`. */
  set(state: number, byte: number, cuts: ByteSet, next: number): void {
    const begin = this.begins[state] ?? this.add(state);
    let low = byte;
    while (low > 0 && !hasByte(cuts, low)) low--;
    let high = byte + 1;
    while (high < ROW && !hasByte(cuts, high)) high++;
    const at = begin & (BLOCK - 1);
    (this.blocks[begin >>> SHIFT] as Int32Array).fill(next, at + low, at + high);
  }

  /** Nothing is known any more. */
  clear(): void {
    this.blocks = [];
    this.begins.fill(undefined);
    this.used = 0;
  }

  private add(state: number): number {
    const begin = this.used;
    if ((begin & (BLOCK - 1)) === 0) this.blocks.push(new Int32Array(BLOCK).fill(-1));
    this.used += ROW;
    setAt(this.begins, state, begin);
    return begin;
  }
}
