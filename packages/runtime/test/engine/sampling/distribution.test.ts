import {
  acceptOrRedraw,
  certain,
  type Distribution,
  drawFrom,
} from '../../../src/engine/sampling/distribution.js';
import { Random } from '../../../src/engine/sampling/random.js';
import { Sampler } from '../../../src/engine/sampling/sampler.js';
import { chiSquare, tokenProbabilities } from './reference.js';

const V = 8;
const draws = 20_000;
/**
 * Chi-square with 7 degrees of freedom exceeds this once in 10⁵. The seeds are fixed: each case always passes or always
 * fails.
 */
const bound = 35;

/** Random probabilities, `zeros` of them 0. */
function distribution(random: Random, zeros: number): Distribution {
  const weights = Float64Array.from({ length: V - zeros }, () => random.nextDouble() ** 2);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const order = Array.from({ length: V }, (_, token) => [random.nextDouble(), token] as const).sort(
    ([a], [b]) => a - b,
  );
  const tokens = Int32Array.from(order, ([, token]) => token).subarray(zeros);
  return { tokens, probabilities: weights.map((weight) => weight / total) };
}

function dense({ tokens, probabilities }: Distribution): number[] {
  const all = new Array<number>(V).fill(0);
  tokens.forEach((token, i) => {
    all[token] = probabilities[i]!;
  });
  return all;
}

describe('accept the draft, or draw again', () => {
  test.each([
    [1, 0, 0],
    [2, 3, 0],
    [3, 0, 3],
    [4, 3, 3],
    [5, 6, 6],
  ])(
    'the output has the target distribution for every draft distribution (seed %d)',
    (seed, zerosOfP, zerosOfQ) => {
      const random = new Random(BigInt(seed));
      const [p, q] = [distribution(random, zerosOfP), distribution(random, zerosOfQ)];
      const counts = new Array<number>(V).fill(0);
      let accepted = 0;
      for (let i = 0; i < draws; i++) {
        const draft = drawFrom(q, random.nextDouble());
        const token = acceptOrRedraw(p, { token: draft, from: q }, () => random.nextDouble());
        counts[token]!++;
        if (token === draft) accepted++;
      }
      expect(chiSquare(counts, dense(p))).toBeLessThan(bound);
      const overlap = dense(p).reduce((sum, value, token) => sum + Math.min(value, dense(q)[token]!), 0);
      expect(Math.abs(accepted / draws - overlap)).toBeLessThan(0.015); // four standard deviations
    },
  );

  test('the bound detects a draft that is accepted too often', () => {
    const random = new Random(1n);
    const [p, q] = [distribution(random, 0), distribution(random, 0)];
    const counts = new Array<number>(V).fill(0);
    for (let i = 0; i < draws; i++) {
      const draft = drawFrom(q, random.nextDouble());
      counts[acceptOrRedraw(p, { token: draft, from: q }, () => 0.9 * random.nextDouble())]!++;
    }
    expect(chiSquare(counts, dense(p))).toBeGreaterThan(bound);
  });

  test('tokens of probability 1', () => {
    const random = () => 0.999;
    expect(acceptOrRedraw(certain(3), { token: 3, from: certain(3) }, random)).toBe(3);
    expect(acceptOrRedraw(certain(3), { token: 5, from: certain(5) }, random)).toBe(3);
  });
});

describe('a sampler’s distribution', () => {
  const logits = Float32Array.from({ length: 20 }, (_, i) => 3 * Math.sin(i * i));

  test.each([
    { temperature: 1, topK: 0, topP: 1, minP: 0 },
    { temperature: 0.7, topK: 8, topP: 0.8, minP: 0.1 },
    { temperature: 2, topK: 0, topP: 0.9, minP: 0 },
  ])('its draws follow it: %j', (filters) => {
    const { tokens, probabilities } = new Sampler({ ...filters, seed: 1 }).distribution(logits);
    const want = tokenProbabilities(logits, filters);
    const got = new Array<number>(20).fill(0);
    tokens.forEach((token, i) => {
      got[token] = probabilities[i]!;
    });
    for (const [token, probability] of want.entries()) expect(got[token]).toBeCloseTo(probability, 6);
  });

  test('includes tokens ahead as if accepted, then forgets them', () => {
    const options = {
      temperature: 1,
      repetitionPenalty: 1.3,
      frequencyPenalty: 0.4,
      penaltyWindow: 3,
      seed: 1,
    };
    const [ahead, accepted] = [new Sampler(options), new Sampler(options)];
    for (const sampler of [ahead, accepted]) for (const token of [1, 2, 2]) sampler.accept(token);
    const before = ahead.distribution(logits);
    const given = ahead.distribution(logits, [2, 7]);
    for (const token of [2, 7]) accepted.accept(token);
    expect(given).toEqual(accepted.distribution(logits));
    expect(given).not.toEqual(before);
    expect(ahead.distribution(logits)).toEqual(before);
  });

  test('greedy: probability 1', () => {
    const { tokens, probabilities } = new Sampler({ temperature: 0 }).distribution(logits);
    expect([...probabilities]).toEqual([1]);
    expect(tokens[0]).toBe(logits.indexOf(Math.max(...logits)));
  });
});
