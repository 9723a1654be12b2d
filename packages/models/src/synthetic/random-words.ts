/** xorshift128 on 32-bit words: fast enough for gigabytes, and equal on all platforms. */
export class RandomWords {
  private readonly state: Uint32Array;

  constructor(seed: number) {
    this.state = Uint32Array.of(seed ^ 0x9e3779b9, seed * 2654435761 + 1, seed ^ 0x85ebca6b, 0xc2b2ae35);
    for (let i = 0; i < 16; i++) this.next();
  }

  next(): number {
    const { state } = this;
    let t = state[3]!;
    t ^= t << 11;
    t ^= t >>> 8;
    state[3] = state[2]!;
    state[2] = state[1]!;
    state[1] = state[0]!;
    state[0] = t ^ state[0]! ^ (state[0]! >>> 19);
    return state[0]!;
  }

  /** Uniform in [−1, 1). */
  unit(): number {
    return this.next() / 2 ** 31 - 1;
  }

  /** A whole number in [0, count). */
  below(count: number): number {
    return Math.floor((this.next() / 2 ** 32) * count);
  }
}
