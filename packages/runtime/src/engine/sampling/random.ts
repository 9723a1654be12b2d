const MASK = (1n << 64n) - 1n;

/** SplitMix64 (Steele et al. 2014): expands a seed to any number of 64-bit words. */
function* splitMix64(seed: bigint): Generator<bigint, never> {
  for (let state = seed; ; ) {
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    yield z ^ (z >> 31n);
  }
}

const rotateLeft = (x: number, bits: number) => (x << bits) | (x >>> (32 - bits));

/** xoshiro128** (Blackman & Vigna 2018) in 32-bit integer arithmetic: the same numbers on every machine. */
export class Random {
  private readonly state = new Uint32Array(4);

  /** `seed`: 64 bits. */
  constructor(seed: bigint) {
    const words = splitMix64(seed);
    this.state.set(new Uint32Array(BigUint64Array.of(words.next().value, words.next().value).buffer));
  }

  /** 32 random bits. */
  nextUint32(): number {
    const s = this.state;
    const result = Math.imul(rotateLeft(Math.imul(s[1]!, 5), 7), 9) >>> 0;
    const t = s[1]! << 9;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= t;
    s[3] = rotateLeft(s[3]!, 11);
    return result;
  }

  /**
   * Writes the words of the next `count` 53-bit numbers, [count, 2], to `words` from index `at` on. Does not consume
   * them.
   */
  peek(words: Int32Array, at: number, count: number): void {
    const before = this.state.slice();
    for (let i = 0; i < 2 * count; i++) words[at + i] = this.nextUint32();
    this.state.set(before);
  }

  /** Uniform in [0, 1), 53 bits. */
  nextDouble(): number {
    const high = this.nextUint32() >>> 5; // 27 bits
    const low = this.nextUint32() >>> 6; // 26 bits
    return (high * 2 ** 26 + low) / 2 ** 53;
  }
}
