import { ropeFrequencies } from '../src/index.js';

const close = (got: Float32Array, want: readonly number[]) => {
  expect(got).toHaveLength(want.length);
  want.forEach((w, i) => expect(Math.abs(got[i]! - w)).toBeLessThanOrEqual(1e-6 * w));
};
const pairs = (count: number, make: (i: number) => number) =>
  Array.from({ length: count }, (_, i) => make(i));
const base = (theta: number, R: number) => pairs(R / 2, (i) => 1 / theta ** ((2 * i) / R));
const layout = 'halves' as const;

test('plain, whole and partial', () => {
  close(ropeFrequencies({ theta: 10000, layout }, 128).frequencies, base(10000, 128));
  close(ropeFrequencies({ theta: 500000, rotaryDim: 32, layout }, 80).frequencies, base(500000, 32));
  expect(ropeFrequencies({ theta: 10000, layout }, 128).magnitude).toBe(1);
});

test('linear divides positions', () => {
  const { frequencies } = ropeFrequencies(
    { theta: 10000, layout, scaling: { kind: 'linear', factor: 4 } },
    64,
  );
  close(
    frequencies,
    base(10000, 64).map((f) => f / 4),
  );
});

test('NTK raises the base: the last pair is divided by the factor, the first pair is unchanged', () => {
  const [R, factor] = [64, 8];
  const { frequencies } = ropeFrequencies({ theta: 10000, layout, scaling: { kind: 'ntk', factor } }, R);
  const plain = base(10000, R);
  expect(frequencies[0]).toBe(1);
  expect(frequencies[R / 2 - 1]! * factor).toBeCloseTo(plain[R / 2 - 1]!, 9);
  close(frequencies, base(10000 * factor ** (R / (R - 2)), R));
});

/**
 * Llama 3.1's published rule: wavelengths below one bound stay, above the other bound are divided, between are blended.
 */
test('llama3', () => {
  const [factor, low, high, context, R] = [8, 1, 4, 8192, 128];
  const scaling = {
    kind: 'llama3',
    factor,
    lowFrequencyFactor: low,
    highFrequencyFactor: high,
    originalContext: context,
  } as const;
  const { frequencies, magnitude } = ropeFrequencies({ theta: 500000, layout, scaling }, R);
  const want = base(500000, R).map((f) => {
    const turns = (context * f) / (2 * Math.PI); // full turns within the original context
    const share = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return f * (share + (1 - share) / factor);
  });
  close(frequencies, want);
  expect(magnitude).toBe(1);
  expect(frequencies[0]).toBe(1);
  expect(frequencies[63]! * 8).toBeCloseTo(base(500000, R)[63]!, 9);
});

/** Peng et al. 2023, equations 17 to 23. */
test('YaRN', () => {
  const [factor, context, R, theta] = [4, 32768, 128, 1000000];
  const scaling = { kind: 'yarn', factor, originalContext: context } as const;
  const { frequencies, magnitude } = ropeFrequencies({ theta, layout, scaling }, R);
  // The pair that turns `turns` times within the context: theta^(2i/R) = context / (2π · turns).
  const pairOf = (turns: number) => (R / 2) * (Math.log(context / (2 * Math.PI * turns)) / Math.log(theta));
  const [first, last] = [Math.floor(pairOf(32)), Math.ceil(pairOf(1))];
  const want = base(theta, R).map((f, i) => {
    const slow = Math.min(1, Math.max(0, (i - first) / (last - first)));
    return (1 - slow) * f + (slow * f) / factor;
  });
  close(frequencies, want);
  expect(magnitude).toBeCloseTo(0.1 * Math.log(4) + 1, 12);
  const { magnitude: given } = ropeFrequencies(
    { theta, layout, scaling: { ...scaling, attentionFactor: 1.5 } },
    R,
  );
  expect(given).toBe(1.5);
});

/** transformers' _compute_yarn_parameters; gpt-oss's values. */
test('YaRN with truncate false: the ends of the ramp are not rounded', () => {
  const [factor, context, R, theta] = [32, 4096, 64, 150_000];
  const scaling = { kind: 'yarn', factor, originalContext: context, truncate: false } as const;
  const { frequencies } = ropeFrequencies({ theta, layout, scaling }, R);
  const pairOf = (turns: number) => (R * Math.log(context / (turns * 2 * Math.PI))) / (2 * Math.log(theta));
  const [first, last] = [pairOf(32), pairOf(1)];
  expect([first, last]).toEqual([expect.closeTo(8.0928, 3), expect.closeTo(17.398, 3)]);
  const want = base(theta, R).map((f, i) => {
    const slow = Math.min(1, Math.max(0, (i - first) / (last - first)));
    return (1 - slow) * f + (slow * f) / factor;
  });
  close(frequencies, want);
  const rounded = ropeFrequencies({ theta, layout, scaling: { ...scaling, truncate: true } }, R).frequencies;
  expect(Math.abs(rounded[12]! / frequencies[12]! - 1)).toBeGreaterThan(0.01);
});

test('a factor for each pair', () => {
  const factors = [1, 2, 4, 8];
  const { frequencies } = ropeFrequencies({ theta: 10000, layout, scaling: { kind: 'factors', factors } }, 8);
  close(
    frequencies,
    base(10000, 8).map((f, i) => f / factors[i]!),
  );
});

test.each([
  ['odd rotaryDim', { theta: 10000, layout, rotaryDim: 7 }, 'BAD_ARGUMENT'],
  ['rotaryDim beyond the head', { theta: 10000, layout, rotaryDim: 20 }, 'BAD_ARGUMENT'],
  ['theta of zero', { theta: 0, layout }, 'BAD_ARGUMENT'],
  ['too few factors', { theta: 1, layout, scaling: { kind: 'factors', factors: [1] } }, 'BAD_SHAPE'],
] as const)('%s is refused', (_name, options, code) => {
  expect(() => ropeFrequencies(options, 16)).toThrow(expect.objectContaining({ code }));
});
