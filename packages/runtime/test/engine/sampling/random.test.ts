import { Random } from '../../../src/engine/sampling/random.js';

/** xoshiro128** and SplitMix64 as published, in exact integer arithmetic. */
function reference(seed: bigint, count: number): number[] {
  const mask32 = (1n << 32n) - 1n;
  const mask64 = (1n << 64n) - 1n;
  const words: bigint[] = [];
  for (let state = seed; words.length < 4; ) {
    state = (state + 0x9e3779b97f4a7c15n) & mask64;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask64;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask64;
    z ^= z >> 31n;
    words.push(z & mask32, z >> 32n);
  }
  let [a, b, c, d] = words as [bigint, bigint, bigint, bigint];
  const rotate = (x: bigint, k: bigint) => ((x << k) | (x >> (32n - k))) & mask32;
  return Array.from({ length: count }, () => {
    const result = (rotate((b * 5n) & mask32, 7n) * 9n) & mask32;
    const t = (b << 9n) & mask32;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotate(d, 11n);
    return Number(result);
  });
}

test.each([0n, 1n, 42n, (1n << 64n) - 1n])('gives the published sequence: seed %p', (seed) => {
  const random = new Random(seed);
  expect(Array.from({ length: 1000 }, () => random.nextUint32())).toEqual(reference(seed, 1000));
});

test('doubles are uniform in [0, 1)', () => {
  const random = new Random(5n);
  const bins = new Array<number>(10).fill(0);
  for (let i = 0; i < 50_000; i++) bins[Math.floor(random.nextDouble() * 10)]!++;
  expect(bins.length).toBe(10);
  for (const count of bins) expect(Math.abs(count - 5000)).toBeLessThan(300); // 4.5 standard deviations
});
