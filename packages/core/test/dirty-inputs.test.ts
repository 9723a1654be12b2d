import { DirtyInputs } from '../src/plan/dirty-inputs.js';

const bytes = (count: number) => new Uint8Array(count).fill(1);

test('all bytes are dirty at first, and clean after take', () => {
  const inputs = new DirtyInputs(new ArrayBuffer(64));
  expect(inputs.take()).toEqual([{ from: 0, to: 64 }]);
  expect(inputs.take()).toEqual([]);
  expect(new DirtyInputs(new ArrayBuffer(0)).take()).toEqual([]);
});

test.each<[string, readonly (readonly [at: number, count: number])[], readonly [number, number][]]>([
  [
    'apart, in ascending order',
    [
      [40, 4],
      [8, 4],
      [20, 4],
    ],
    [
      [8, 12],
      [20, 24],
      [40, 44],
    ],
  ],
  [
    'that touch become one',
    [
      [8, 4],
      [16, 4],
      [12, 4],
    ],
    [[8, 20]],
  ],
  [
    'that overlap become one',
    [
      [8, 8],
      [12, 12],
      [4, 6],
    ],
    [[4, 24]],
  ],
  [
    'within another',
    [
      [8, 16],
      [12, 4],
    ],
    [[8, 24]],
  ],
  [
    'over several others',
    [
      [8, 4],
      [20, 4],
      [32, 4],
      [6, 28],
    ],
    [[6, 36]],
  ],
  ['of no bytes', [[8, 0]], []],
])('ranges %s', (_, writes, want) => {
  const memory = new ArrayBuffer(64);
  const inputs = new DirtyInputs(memory);
  inputs.take();
  for (const [at, count] of writes) inputs.write(at, bytes(count));
  const taken = inputs.take();
  expect(taken).toEqual(want.map(([from, to]) => ({ from, to })));
  for (const [at, count] of writes) expect(new Uint8Array(memory, at, count)).toEqual(bytes(count));
});

test('any writes: exactly the written bytes are dirty', () => {
  let seed = 1;
  const next = (limit: number) => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed % limit;
  };
  for (let round = 0; round < 200; round++) {
    const inputs = new DirtyInputs(new ArrayBuffer(100));
    inputs.take();
    const written = new Set<number>();
    for (let i = 0; i < 6; i++) {
      const [at, count] = [next(80), next(20)];
      inputs.write(at, bytes(count));
      for (let byte = at; byte < at + count; byte++) written.add(byte);
    }
    const taken = inputs.take();
    const covered = taken.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i));
    expect(covered).toEqual([...written].sort((a, b) => a - b));
    for (let i = 1; i < taken.length; i++) expect(taken[i]!.from).toBeGreaterThan(taken[i - 1]!.to);
  }
});
