import type { Defined } from '@quern/core';
import fc from 'fast-check';
import { runs } from '../../../../../test-scope.js';
import type { SamplingOptions } from '../../../src/engine/sampling/options.js';
import { Sampler } from '../../../src/engine/sampling/sampler.js';
import { chiSquare, tokenProbabilities } from './reference.js';

const OFF = { temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1 };
const greedy = (options: SamplingOptions = {}) => new Sampler({ ...options, temperature: 0 });

/** Small vocabularies with ties and impossible tokens; at least one token is possible. */
const someLogits = fc
  .array(fc.oneof(fc.integer({ min: -8, max: 8 }), fc.constant(Number.NEGATIVE_INFINITY)), {
    minLength: 1,
    maxLength: 40,
  })
  .filter((values) => values.some(Number.isFinite))
  .map((values) => Float32Array.from(values, (value) => value / 2));

describe('greedy', () => {
  test('takes the most likely token; at ties the lowest id', () => {
    expect(greedy().sample(Float32Array.of(1, 3, 3, 2))).toBe(1);
    expect(greedy().sample(Float32Array.of(Number.NEGATIVE_INFINITY, -5))).toBe(1);
  });

  test('logit bias can force and ban', () => {
    const logits = Float32Array.of(5, 1, 0);
    expect(greedy({ logitBias: { 1: 10 } }).sample(logits)).toBe(1);
    expect(greedy({ logitBias: new Map([[0, Number.NEGATIVE_INFINITY]]) }).sample(logits)).toBe(1);
    expect([...logits]).toEqual([5, 1, 0]);
  });
});

describe('penalties', () => {
  const after = (options: SamplingOptions, accepted: number[], logits: number[]) => {
    const sampler = greedy(options);
    for (const token of accepted) sampler.accept(token);
    return sampler.sample(Float32Array.from(logits));
  };

  test('repetition divides positive logits and multiplies negative ones', () => {
    expect(after({ repetitionPenalty: 2 }, [0], [3, 1.6])).toBe(1);
    expect(after({ repetitionPenalty: 2 }, [0], [3, 1.4])).toBe(0);
    expect(after({ repetitionPenalty: 2 }, [0], [-1, -1.9])).toBe(1);
    expect(after({ repetitionPenalty: 2 }, [0], [-1, -2.1])).toBe(0);
  });

  test('presence counts once, frequency every time', () => {
    expect(after({ presencePenalty: 1 }, [0, 0, 0], [3, 1.9])).toBe(0);
    expect(after({ presencePenalty: 1 }, [0, 0, 0], [3, 2.1])).toBe(1);
    expect(after({ frequencyPenalty: 1 }, [0, 0, 0], [3, 0.1])).toBe(1);
    expect(after({ frequencyPenalty: 1 }, [0, 0], [3, 0.9])).toBe(0);
  });

  test('only tokens in the window count', () => {
    const penalty = { presencePenalty: 5 };
    expect(after({ ...penalty, penaltyWindow: 2 }, [0, 2, 2], [3, 1, 0])).toBe(0);
    expect(after({ ...penalty, penaltyWindow: 3 }, [0, 2, 2], [3, 1, 0])).toBe(1);
    expect(after({ ...penalty, penaltyWindow: 0 }, [0, 0, 0], [3, 1, 0])).toBe(0);
    expect(after({ ...penalty, penaltyWindow: -1 }, [0, ...new Array(200).fill(2)], [3, 1, 0])).toBe(1);
    expect(after(penalty, [0, ...new Array(64).fill(2)], [3, 1, 0])).toBe(0);
    expect(after(penalty, [0, ...new Array(63).fill(2)], [3, 1, 0])).toBe(1);
  });

  test('a sliding window equals the definition', () => {
    const tokens = fc.array(fc.nat({ max: 4 }), { maxLength: 30 });
    fc.assert(
      fc.property(tokens, fc.integer({ min: -1, max: 8 }), (accepted, penaltyWindow) => {
        const start = penaltyWindow < 0 ? 0 : Math.max(0, accepted.length - penaltyWindow);
        const logits = [0, 1, 2, 3, 4].map(
          (t) => 2 - accepted.slice(start).filter((each) => each === t).length,
        );
        const best = logits.indexOf(Math.max(...logits));
        expect(after({ frequencyPenalty: 1, penaltyWindow }, accepted, [2, 2, 2, 2, 2])).toBe(best);
      }),
    );
  });
});

describe('drawing', () => {
  test('draws only tokens that the definition allows, for all filters', () => {
    const filters = fc.record({
      topK: fc.nat({ max: 45 }),
      topP: fc.double({ min: 0.01, max: 1, noNaN: true }),
      minP: fc.double({ min: 0, max: 1, noNaN: true }),
      temperature: fc.double({ min: 0.01, max: 5, noNaN: true }),
    });
    fc.assert(
      fc.property(someLogits, filters, fc.nat(), (logits, options, seed) => {
        const allowed = tokenProbabilities(logits, options);
        const sampler = new Sampler({ ...options, seed });
        for (let i = 0; i < 20; i++) expect(allowed[sampler.sample(logits)]).toBeGreaterThan(0);
      }),
      { numRuns: runs(500) },
    );
  });

  test.each<[string, Partial<Defined<SamplingOptions>>]>([
    ['temperature 1', {}],
    ['temperature 0.5', { temperature: 0.5 }],
    ['top-k', { topK: 3 }],
    ['top-p', { topP: 0.7 }],
    ['min-p', { minP: 0.2, temperature: 2 }],
    ['all of them', { topK: 6, topP: 0.9, minP: 0.1, temperature: 1.5 }],
  ])('follows the probabilities of the definition: %s', (_, options) => {
    const logits = Float32Array.of(0.5, 2, -1, 1, 1, 0, -3, 2.5, Number.NEGATIVE_INFINITY, 0.25);
    const sampler = new Sampler({ ...OFF, ...options, seed: 42 });
    const counts = new Array<number>(logits.length).fill(0);
    for (let i = 0; i < 20_000; i++) counts[sampler.sample(logits)]!++;
    // 0.9999 quantile of chi-square with 9 degrees of freedom: 33.7; fixed seed, so the test is deterministic
    expect(chiSquare(counts, tokenProbabilities(logits, { ...OFF, ...options }))).toBeLessThan(33.7);
  });

  test('top-p alone over a large vocabulary equals the definition', () => {
    const logits = Float32Array.from({ length: 5000 }, (_, i) => Math.sin(i * 12.9898) * 2);
    const options = { ...OFF, topP: 0.6 };
    const allowed = tokenProbabilities(logits, options);
    const kept = allowed.filter((p) => p > 0).length;
    expect(kept).toBeGreaterThan(256);
    const sampler = new Sampler({ ...options, seed: 1 });
    for (let i = 0; i < 300; i++) expect(allowed[sampler.sample(logits)]).toBeGreaterThan(0);
  });

  test('top-k prefers the lowest ids at ties', () => {
    const sampler = new Sampler({ ...OFF, topK: 2, seed: 3 });
    const drawn = new Set(Array.from({ length: 200 }, () => sampler.sample(new Float32Array(100))));
    expect([...drawn].sort()).toEqual([0, 1]);
  });
});

describe('seed', () => {
  const run = (seed: number | bigint) => {
    const sampler = new Sampler({ ...OFF, seed });
    return Array.from({ length: 50 }, () => sampler.sample(new Float32Array(1000)));
  };

  test('equal seeds repeat, other seeds do not', () => {
    expect(run(7)).toEqual(run(7n));
    expect(run(7)).not.toEqual(run(8));
    expect(run(2n ** 64n - 1n)).not.toEqual(run(2n ** 32n - 1n));
  });

  test('without a seed, the sampler reports its own', () => {
    const sampler = new Sampler(OFF);
    const tokens = Array.from({ length: 50 }, () => sampler.sample(new Float32Array(1000)));
    expect(run(sampler.seed)).toEqual(tokens);
    expect(new Sampler().seed).not.toBe(sampler.seed);
  });
});

describe('refusals', () => {
  test.each<[SamplingOptions, string]>([
    [{ temperature: -1 }, 'temperature is -1'],
    [{ temperature: Number.NaN }, 'temperature is NaN'],
    [{ topK: 1.5 }, 'topK is 1.5'],
    [{ topK: -1 }, 'topK is -1'],
    [{ topP: 0 }, 'topP is 0'],
    [{ topP: 1.1 }, 'topP is 1.1'],
    [{ minP: -0.1 }, 'minP is -0.1'],
    [{ repetitionPenalty: 0 }, 'repetitionPenalty is 0'],
    [{ presencePenalty: Number.POSITIVE_INFINITY }, 'presencePenalty is Infinity'],
    [{ penaltyWindow: -2 }, 'penaltyWindow is -2'],
    [{ logitBias: { 10: 1 } }, 'token 10'],
    [{ logitBias: { 1: Number.NaN } }, 'logitBias[1] is NaN'],
    [{ logitBias: { '-1': 1 } }, 'token -1'],
    [{ seed: -1 }, 'seed is -1'],
    [{ seed: 0.5 }, 'seed is 0.5'],
    [{ seed: 1n << 64n }, 'seed is 18446744073709551616'],
  ])('%p', (options, message) => {
    const make = () => new Sampler(options, 10);
    expect(make).toThrow(expect.objectContaining({ name: 'SamplingError', code: 'BAD_OPTION' }));
    expect(make).toThrow(message);
  });

  test.each([
    ['NaN', [0, Number.NaN, 1], 'token 1 is NaN'],
    ['+Infinity', [0, 1, Number.POSITIVE_INFINITY], 'token 2 is Infinity'],
    ['nothing possible', new Array(3).fill(Number.NEGATIVE_INFINITY), 'none of the 3 logits'],
    ['a wrong length', [0, 1], 'expected 3 logits'],
  ])('logits: %s', (_, values, message) => {
    for (const options of [{ temperature: 0 }, {}, OFF, { ...OFF, topP: 0.5 }]) {
      const sample = () => new Sampler(options, 3).sample(Float32Array.from(values));
      expect(sample).toThrow(expect.objectContaining({ name: 'SamplingError', code: 'BAD_LOGITS' }));
      expect(sample).toThrow(message);
    }
  });
});
