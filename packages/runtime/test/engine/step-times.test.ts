import { StepTimes } from '../../src/engine/step-times.js';

test('a slow first step of a size counts no more than larger steps', () => {
  const times = new StepTimes();
  times.learn(2, 26);
  times.learn(3, 14);
  times.learn(8, 16);
  expect(times.atLeast(2)).toBe(14);
  expect(times.mostRows(1.8 * times.atLeast(2), 8, 64)).toBe(8);
});

test('sizes that have not run at a depth are as much slower as those that have', () => {
  const times = new StepTimes();
  for (const rows of [1, 8, 16]) times.learn(rows, 10 + rows);
  expect(times.of(16, 4000)).toBe(26); // nothing is known of this depth
  times.learn(1, 33, 4000);
  expect([1, 8, 16].map((rows) => times.of(rows, 4000))).toEqual([33, 54, 78]);
  times.learn(8, 27, 4000);
  expect(times.of(16, 4000)).toBe(39);
  expect([1, 8, 16].map((rows) => times.of(rows))).toEqual([11, 18, 26]);
});
