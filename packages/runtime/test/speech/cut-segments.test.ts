import { cutSegments } from '../../src/speech/cut-segments.js';

const first = 1000;
const at = (seconds: number) => first + Math.round(seconds / 0.02);

test('timestamp pairs end segments; an unfinished segment moves to the next window', () => {
  const tokens = [at(0), 1, 2, at(2.5), at(2.5), 3, at(4), at(4.2), 4];
  expect(cutSegments(tokens, first, 30)).toEqual({
    segments: [
      { start: 0, end: 2.5, tokens: [at(0), 1, 2, at(2.5)] },
      { start: 2.5, end: 4, tokens: [at(2.5), 3, at(4)] },
    ],
    advance: 4,
  });
});

test('one timestamp at the end: the window is complete', () => {
  const { segments, advance } = cutSegments([at(0), 1, at(2), at(3), 2, at(5)], first, 30);
  expect(segments.map(({ start, end }) => [start, end])).toEqual([
    [0, 2],
    [3, 5],
  ]);
  expect(advance).toBe(30);
});

test('no pairs: one segment up to the last timestamp, or the whole window', () => {
  expect(cutSegments([at(0), 1, 2], first, 11)).toEqual({
    segments: [{ start: 0, end: 11, tokens: [at(0), 1, 2] }],
    advance: 11,
  });
  expect(cutSegments([at(0), 1, 2, at(6)], first, 11).segments[0]!.end).toBe(6);
  expect(cutSegments([], first, 11).advance).toBe(11);
});

test('a window always advances', () => {
  expect(cutSegments([at(0), at(0), 1], first, 30).advance).toBe(30);
});
