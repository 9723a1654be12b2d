import { StepTimes } from '../../src/engine/step-times.js';

test('a slow first step of a size counts no more than larger steps', () => {
  const times = new StepTimes();
  times.learn(2, 26);
  times.learn(3, 14);
  times.learn(8, 16);
  expect(times.atLeast(2)).toBe(14);
  expect(times.mostRows(1.8 * times.atLeast(2), 8, 64)).toBe(8);
});
