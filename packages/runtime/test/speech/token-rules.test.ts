import { applyRules, argmax, likeliestOf, logProbability } from '../../src/speech/token-rules.js';
import type { SpecialIds } from '../../src/speech/vocabulary.js';

// ids: 0 … 9 text, 10 end, 11 … 19 special, 20 … 29 timestamps
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
/** Equal probabilities, except `changes`. */
const weights = (changes: Record<number, number> = {}) =>
  Float32Array.from({ length: 30 }, (_, id) => changes[id] ?? 1 / 64);

/** Allowed ids after `written`. */
const allowed = (written: number[], changes?: Record<number, number>) => {
  const next = applyRules(weights(changes), written, rules);
  return [...next.weights.keys()].filter((id) => next.weights[id]! >= 0);
};
const text = { 1: 1 / 2 };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test('first: a timestamp of the first second', () => {
  expect(allowed([], text)).toEqual(range(20, 25));
});

test('after the first timestamp: text', () => {
  expect(allowed([20], text)).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10]);
});

test('after text: any token except special ones and used timestamps', () => {
  expect(allowed([20, 1], text)).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, ...range(21, 29)]);
});

test('after a segment’s end: the same timestamp or a later one, or the end token', () => {
  expect(allowed([20, 1, 25], text)).toEqual(range(25, 29)); // the end token is less likely
  expect(allowed([20, 1, 25], { 10: 1 / 2 })).toEqual([10, ...range(25, 29)]);
});

test('timestamps win if their summed probability exceeds every text token’s', () => {
  expect(allowed([20, 1])).toEqual(range(21, 29));
});

test('probabilities are normalised over the allowed tokens', () => {
  const next = applyRules(weights({ 1: 1 / 2 }), [20, 1], rules);
  const sum = [...next.weights].filter((weight) => weight > 0).reduce((total, weight) => total + weight, 0);
  expect(next.total).toBeCloseTo(sum, 6);
  expect(logProbability(next, 1)).toBeCloseTo(Math.log(0.5 / sum), 6);
});

test('the rules hold even if all allowed tokens have probability 0', () => {
  const next = applyRules(new Float32Array(30), [], rules);
  expect(argmax(next.weights)).toBe(20);
  expect(logProbability(next, 20)).toBe(0);
});

test('the most likely tokens', () => {
  expect(likeliestOf(Float32Array.of(0.1, 0.3, 0.6), [0, 1])).toBe(1);
  expect(argmax(Float32Array.of(1, 3, 3))).toBe(1);
});
