import { type Cooperative, eachOf, runAtOnce, runInTurns } from '../src/index.js';

/** Counts to `parts`. Each part takes `milliseconds` of the thread. */
function* counting(parts: number, milliseconds = 0): Cooperative<number> {
  let count = 0;
  for (; count < parts; count++) {
    const end = performance.now() + milliseconds;
    while (performance.now() < end);
    yield;
  }
  return count;
}

test('work in parts gives its result at once or in turns', async () => {
  expect(runAtOnce(counting(5))).toBe(5);
  await expect(runInTurns(counting(5))).resolves.toBe(5);
});

test('other work runs between the parts', async () => {
  let turns = 0;
  const count = () => {
    turns++;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  await runInTurns(counting(6, 10)); // every part is longer than a slice
  clearImmediate(immediate);
  expect(turns).toBeGreaterThanOrEqual(5);
});

test('an error of a part becomes the rejection', async () => {
  // biome-ignore lint/correctness/useYield: it fails before the first part ends
  const failing = function* (): Cooperative<never> {
    throw new Error('no');
  };
  expect(() => runAtOnce(failing())).toThrow('no');
  await expect(runInTurns(failing())).rejects.toThrow('no');
});

test.each([0, 1, 1023, 1024, 1025, 10000])('each of %i items is seen once, in order', (length) => {
  const seen: number[] = [];
  const items = Array.from({ length }, (_, i) => 2 * i);
  runAtOnce(eachOf(items, (item, index) => seen.push(item - index)));
  expect(seen).toEqual(items.map((_, i) => i));
});
