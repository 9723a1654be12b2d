import fc from 'fast-check';
import { runs } from '../../../../../test-scope.js';
import type { SamplingOptions } from '../../../src/engine/sampling/options.js';
import { Sampler } from '../../../src/engine/sampling/sampler.js';

/** The `count` most likely tokens, by the definition of the op topK. */
function likeliest(logits: Float32Array, count: number): Int32Array {
  const of = (token: number) => (Number.isNaN(logits[token]!) ? -Infinity : logits[token]!);
  const ids = [...logits.keys()].sort((a, b) => of(b) - of(a) || a - b);
  return Int32Array.from(ids.slice(0, count));
}

/** Few distinct values, so many ties; some tokens are impossible. */
const someLogits = fc
  .array(fc.oneof(fc.integer({ min: -8, max: 8 }), fc.constant(Number.NEGATIVE_INFINITY)), {
    minLength: 2,
    maxLength: 40,
  })
  .filter((values) => values.some(Number.isFinite))
  .map((values) => Float32Array.from(values, (value) => value / 2));

const unit = { noNaN: true, noDefaultInfinity: true };
const someOptions: fc.Arbitrary<SamplingOptions> = fc.record(
  {
    temperature: fc.oneof(fc.constant(0), fc.double({ min: 0.05, max: 3, ...unit })),
    topK: fc.nat({ max: 45 }),
    topP: fc.oneof(fc.constant(1), fc.double({ min: 0.01, max: 1, ...unit })),
    minP: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, ...unit })),
    repetitionPenalty: fc.constantFrom(0.5, 1, 1.3),
    presencePenalty: fc.constantFrom(-1, 0, 0.5),
    frequencyPenalty: fc.constantFrom(-0.5, 0, 0.5),
    logitBias: fc.dictionary(fc.constantFrom('0', '1'), fc.constantFrom(-Infinity, -1, 0, 2)),
  },
  { requiredKeys: [] },
);

test('precomputed top tokens do not change the result', () => {
  const accepted = fc.array(fc.nat({ max: 40 }), { maxLength: 12 });
  fc.assert(
    fc.property(
      someLogits,
      someOptions,
      accepted,
      fc.integer({ min: 1, max: 45 }),
      fc.nat(),
      (logits, options, tokens, count, seed) => {
        const [plain, ranked] = [new Sampler({ ...options, seed }), new Sampler({ ...options, seed })];
        const before = [...logits];
        const best = likeliest(logits, count);
        const attempt = (sample: () => number) => {
          try {
            return sample();
          } catch (error) {
            return (error as { code: string }).code;
          }
        };
        for (const sampler of [plain, ranked]) for (const token of tokens) sampler.accept(token);
        for (let i = 0; i < 8; i++)
          expect(attempt(() => ranked.sample(logits, best))).toBe(attempt(() => plain.sample(logits)));
        expect([...logits]).toEqual(before);
      },
    ),
    { numRuns: runs(2000) },
  );
});

describe('only the top tokens are read if they suffice', () => {
  // reading a NaN is an error
  const logits = Float32Array.from({ length: 500 }, (_, i) => (i > 300 ? Number.NaN : (i * 37) % 301) / 10);
  const best = likeliest(logits, 128);
  const recent = Array.from({ length: 64 }, (_, i) => best[2 * i]!);

  test.each<[string, SamplingOptions]>([
    ['top-k', {}],
    ['top-k alone', { topK: 100, topP: 1, minP: 0 }],
    ['min-p', { topK: 0, topP: 1, minP: 0.1 }],
    ['penalties', { repetitionPenalty: 1.1, presencePenalty: 0.5 }],
    ['negative penalties', { presencePenalty: -3 }],
    ['greedy with penalties', { temperature: 0, repetitionPenalty: 1.2 }],
    ['a bias', { logitBias: { 5: 20, [best[0]!]: -Infinity } }],
  ])('%s', (_, options) => {
    const sampler = new Sampler({ seed: 1, ...options });
    for (const token of recent) sampler.accept(token);
    expect(() => sampler.sample(logits, best)).not.toThrow();
    expect(() => sampler.sample(logits)).toThrow(expect.objectContaining({ code: 'BAD_LOGITS' }));
  });

  test.each<[string, SamplingOptions]>([
    ['no filter', { topK: 0, topP: 1, minP: 0 }],
    ['top-p of all', { topK: 0 }],
    ['top-k above the ranked tokens', { topK: 129 }],
    ['a min-p below the ranked tokens', { topK: 0, topP: 1, minP: 1e-9 }],
  ])('all tokens, if they do not: %s', (_, options) => {
    const sampler = new Sampler({ seed: 1, ...options });
    expect(() => sampler.sample(logits, best)).toThrow(expect.objectContaining({ code: 'BAD_LOGITS' }));
  });
});
