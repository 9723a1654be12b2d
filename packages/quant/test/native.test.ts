import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import * as affine from '../src/format/affine-fit.js';
import * as curved from '../src/format/iq4-encode.js';
import { descendInJavaScript } from '../src/format/k-symmetric.js';
import * as scale from '../src/format/scale-fit.js';
import { addon, type NativeSearch } from '../src/native.js';

if (!addon)
  console.warn('the native encoder is not tested: it has not been built (nx build-native @quern/quant)');
const isas: [string, NativeSearch][] = addon ? Object.entries(addon) : [['no addon', {} as NativeSearch]];
const testNative = addon ? test : test.skip;

const searches: readonly affine.AffineSearch[] = [
  affine.weightedSearch,
  { first: -1, step: 0.1, steps: 20, error: 'squared' },
  { first: -0.5, step: 0.1, steps: 15, error: 'absolute' },
];

/** The sign of NaN depends on the processor and on the engine of JavaScript. */
const oneNaN = (value: number) => (Number.isNaN(value) ? Number.NaN : value);
const bits = (values: Float64Array | Uint8Array) => Buffer.from(values.map(oneNaN).buffer);

/** Groups of all kinds of numbers: ordinary, equal, tiny, huge, zero, not finite. */
const groups = fc
  .record({
    size: fc.constantFrom(16, 32),
    values: fc.array(
      fc.oneof(
        { weight: 8, arbitrary: fc.float({ min: -2, max: 2, noNaN: true }) },
        fc.constantFrom(0, -0, 1e-30, 1e30, 0.5, 0.5),
        fc.float(),
      ),
      { minLength: 96, maxLength: 96 },
    ),
    weights: fc.array(fc.double({ min: 0, max: 9, noNaN: true }), { minLength: 96, maxLength: 96 }),
  })
  .map(({ size, values, weights }) => ({
    size,
    x: Float32Array.from(values),
    weights: Float64Array.from(weights),
  }));

testNative.each(isas)(
  '%s and JavaScript find the same scales, lifts and levels, to the bit',
  (_name, native) => {
    const fits = () => ({
      scales: new Float64Array(6),
      lifts: new Float64Array(6),
      levels: new Uint8Array(96),
    });
    fc.assert(
      fc.property(groups, fc.constantFrom(...searches), fc.constantFrom(3, 15, 31), (some, search, top) => {
        const [ours, theirs] = [fits(), fits()];
        affine.fitInJavaScript(some, top, search, ours);
        affine.fitNatively(native, some, top, search, theirs);
        for (const field of ['scales', 'lifts', 'levels'] as const)
          expect(bits(theirs[field])).toEqual(bits(ours[field]));
      }),
      { seed: 11, numRuns: runs(400) },
    );
  },
);

testNative.each(isas)('%s: the same about zero', (_name, native) => {
  const fits = () => ({ scales: new Float64Array(6), inverses: new Float64Array(6) });
  fc.assert(
    fc.property(groups, fc.constantFrom(4, 8, 16, 32), (some, top) => {
      const [ours, theirs] = [fits(), fits()];
      scale.fitInJavaScript(some, top, ours);
      scale.fitNatively(native, some, top, theirs);
      expect(bits(theirs.scales)).toEqual(bits(ours.scales));
      expect(bits(theirs.inverses)).toEqual(bits(ours.inverses));
    }),
    { seed: 12, numRuns: runs(400) },
  );
});

testNative.each(isas)('%s: the same by moving single levels, and on a curve', (_name, native) => {
  fc.assert(
    fc.property(groups, ({ x, weights }) => {
      const [ours, theirs] = [new Float64Array(6), new Float64Array(6)];
      descendInJavaScript({ size: 16, x, weights }, 4, ours);
      native.fitByDescent(x, 16, 4, theirs);
      expect(bits(theirs)).toEqual(bits(ours));
      curved.fitInJavaScript(x, weights, ours);
      curved.fitNatively(native, x, weights, theirs);
      expect(bits(theirs)).toEqual(bits(ours));
    }),
    { seed: 13, numRuns: runs(400) },
  );
});

testNative.each(isas)('%s: arrays that are too short are refused', (_name, native) => {
  const some = { size: 32, x: new Float32Array(64), weights: new Float64Array(64) };
  const two = new Float64Array(2);
  const one = new Float64Array(1);
  const levels = new Uint8Array(64);
  for (const [changed, scales, lifts, found] of [
    [{ ...some, size: 24 }, two, two, levels],
    [{ ...some, size: 0 }, two, two, levels],
    [{ ...some, size: 64 }, two, two, levels],
    [{ ...some, weights: new Float64Array(63) }, two, two, levels],
    [some, one, two, levels],
    [some, two, one, levels],
    [some, two, two, new Uint8Array(63)],
  ] as const) {
    const fits = { scales, lifts, levels: found };
    expect(() => affine.fitNatively(native, changed, 15, searches[0]!, fits)).toThrow(RangeError);
  }
  expect(() => scale.fitNatively(native, some, 8, { scales: one, inverses: two })).toThrow(RangeError);
});

testNative.each(isas)('%s: arguments of other types are refused', (_name, native) => {
  const [x, weights, scales] = [new Float32Array(64), new Float64Array(64), new Float64Array(2)];
  const right: readonly unknown[] = [x, weights, 32, 8, scales, scales.slice()];
  const fit = (all: readonly unknown[]) => Reflect.apply(native.fitScale, native, all);
  expect(() => fit(right)).not.toThrow();
  for (const i of right.keys())
    for (const wrong of [undefined, null, 'text', {}, [1, 2], new Uint16Array(64), new ArrayBuffer(64)])
      expect(() => fit(right.with(i, wrong))).toThrow(new RegExp(`argument ${i + 1} must be`));
  const flag = [x, weights, 32, 15, -1, 0.1, 20, 'yes', scales, scales.slice(), new Uint8Array(64)];
  expect(() => Reflect.apply(native.fitAffine, native, flag)).toThrow(TypeError);
});
