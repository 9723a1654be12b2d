import { applyRules, argmax, likeliestOf, probabilityOf } from '../../src/speech/token-rules.js';
import type { SpecialIds } from '../../src/speech/vocabulary.js';

// 0 … 9 text, 10 the end, 11 … 19 special, 20 … 29 timestamps
const ids: SpecialIds = {
  endOfText: 10,
  start: 11,
  translate: 12,
  transcribe: 13,
  startOfPrevious: 14,
  noSpeech: 15,
  noTimestamps: 19,
  firstTimestamp: 20,
  languages: new Map([['en', 16]]),
  multilingual: true,
};
const rules = { ids, suppressed: [3], notFirst: [0, 10], latestFirst: 4, latest: 8 };
const logits = (changes: Record<number, number> = {}) =>
  Float32Array.from({ length: 30 }, (_, id) => changes[id] ?? 0);

/** Which ids may come. */
const allowed = (written: number[], changes?: Record<number, number>) => {
  const next = applyRules(logits(changes), written, rules);
  return [...next.logits.keys()].filter((id) => next.logits[id] !== Number.NEGATIVE_INFINITY);
};
const text = { 1: 9 };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test('a timestamp of the first second comes first', () => {
  expect(allowed([], text)).toEqual(range(20, 25));
});

test('after the first timestamp comes text', () => {
  expect(allowed([20], text)).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10]);
});

test('after text anything that is not special, and no time twice', () => {
  expect(allowed([20, 1], text)).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, ...range(21, 29)]);
});

test('after the end of a segment comes its like or later, or the end', () => {
  expect(allowed([20, 1, 25], text)).toEqual(range(25, 29)); // the end is unlikelier
  expect(allowed([20, 1, 25], { 10: 9 })).toEqual([10, ...range(25, 29)]);
});

test('timestamps that are likelier together than any text win', () => {
  expect(allowed([20, 1])).toEqual(range(21, 29));
});

test('the normaliser is that of what is left', () => {
  const next = applyRules(logits({ 1: 9 }), [20, 1], rules);
  const sum = next.logits.reduce((total, logit) => total + Math.exp(logit), 0);
  expect(next.normaliser).toBeCloseTo(Math.log(sum), 6);
});

test('probabilities', () => {
  const some = Float32Array.of(Math.log(1), Math.log(3), Math.log(4));
  expect(probabilityOf(some, 1)).toBeCloseTo(3 / 8);
  expect(likeliestOf(some, [0, 1])).toEqual({ id: 1, probability: expect.closeTo(3 / 4) });
  expect(argmax(Float32Array.of(1, 3, 3))).toBe(1);
});
