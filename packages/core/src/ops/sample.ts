import { badShape, needRank, needShape, outOfRange } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, integers, ints, normal, type SampleOperands } from '../testing/samples.js';
import { drawToken, rightTokens, settingsOf, uniform } from './draw-token.js';

const off = [1, 0, 1, -Infinity];
const usual = [0.8, 40, 0.95, Math.log(0.05)];
/** Random words in the middle of [0, 1). */
const half = [0x7fffffff, -1];

const even = [0, 0, 0, 0];
/** The last two have half the probability of the first two. */
const uneven = [0, 0, Math.log(0.5), Math.log(0.5)];

/** The words that give `u`. */
const wordsOf = (u: number): number[] => [Math.floor(u * 2 ** 32) | 0, (((u * 2 ** 32) % 1) * 2 ** 32) | 0];

/** Rows with the same logits and settings, drawn at `distance` below and above each number. */
function edges(
  name: string,
  at: readonly number[],
  distance: number,
  settings: readonly number[],
  logits: readonly number[] = even,
) {
  const numbers = at.flatMap((u) => [u - distance, u + distance]);
  const S = numbers.length;
  return {
    name,
    operands: {
      x: floats(
        numbers.flatMap(() => logits),
        [S, 4],
      ),
      settings: floats(
        numbers.flatMap(() => settings),
        [S, 4],
      ),
      random: ints(numbers.flatMap(wordsOf), [S, 2]),
      draws: ints(numbers.map((_, s) => s)),
    },
    attributes: {},
  };
}

export const sample = defineOp({
  name: 'sample',
  doc:
    'Draws a token from each row of logits: x [S, V], settings [S, 4], random [R, 2], draws [S] → [S] as i32, −1 for a row without a token. ' +
    'settings[s]: temperature, top-k (0: all), top-p (1: all), ln min-p (−∞: all). ' +
    'Row s uses the two random words random[draws[s]]: their upper 27 and 26 bits make u in [0, 1). ' +
    'Filters, in this order: the k largest elements; of these the fewest, in falling order (ties by index), whose sum reaches top-p of the softmax over the k; of these the elements within −ln min-p of the largest. ' +
    'The token is the first remaining element, in that order (by index if neither top-k nor top-p is set), at which the running sum of softmax(x / temperature) exceeds u. ' +
    'Both sides of an edge are right within 2⁻¹⁶ of the edge between two tokens or of the sum that reaches top-p, and within 2⁻²² · (|largest| + |ln min-p|) of the min-p bound, because f32 need not tell them apart. ' +
    'Temperature 0 gives argmax. NaN counts as −∞; −∞ is never drawn. A row with +∞, or with nothing above −∞, gives −1.',
  source: 'Holtzman et al. 2020 (top-p); Nguyen et al. 2024 (min-p); the order is that of llama.cpp',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    settings: { kind: 'tensor', dtypes: ['f32'] },
    random: { kind: 'tensor', dtypes: ['i32'] },
    draws: { kind: 'tensor', dtypes: ['i32'] },
  },
  attributes: {},
  inRange: '0 ≤ draws[s] < R; a finite temperature ≥ 0; top-k ≥ 0 and whole; 0 ≤ top-p ≤ 1; ln min-p ≤ 0',
  outputs: ['y'],
  accumulation: 'none',
  infer({ x, settings, random, draws }) {
    needRank('sample', 'x', x, 2, '[S, V]');
    const [S, V] = x.shape as [number, number];
    if (V === 0) throw badShape('sample', `x must have a last dimension of 1 or more; got [${x.shape}]`);
    needShape('sample', 'settings', settings.shape, [S, 4], 'S of x');
    needRank('sample', 'random', random, 2, '[R, 2]');
    needShape('sample', 'random', random.shape, [random.shape[0]!, 2], 'two words for each draw');
    needShape('sample', 'draws', draws.shape, [S], 'S of x');
    return [{ shape: [S], dtype: 'i32' }];
  },
  define({ x, settings, random, draws }, _attributes, [y]) {
    const [S, V] = x.shape as [number, number];
    const R = random.shape[0]!;
    for (let s = 0; s < S; s++) {
      const draw = draws.data[s]!;
      if (draw < 0 || draw >= R)
        throw outOfRange('sample', `draws[${s}] is ${draw}, but random has ${R} rows`);
      const u = uniform(random.data[2 * draw]!, random.data[2 * draw + 1]!);
      y!.data[s] = drawToken(x.data.subarray(s * V, (s + 1) * V), settingsOf(settings.data, s), u);
    }
  },
  choices({ x, settings, random, draws }) {
    const [S, V] = x.shape as [number, number];
    return Array.from({ length: S }, (_, s) => {
      const draw = draws.data[s]!;
      const u = uniform(random.data[2 * draw]!, random.data[2 * draw + 1]!);
      return rightTokens(x.data.subarray(s * V, (s + 1) * V), settingsOf(settings.data, s), u);
    });
  },
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [
    edges('edges between tokens, outside the zone', [0.25, 0.5, 0.75], 2 ** -15, off),
    edges('edges between tokens, within the zone', [0.25, 0.5, 0.75], 2 ** -19, off),
    edges('edges of top-p, outside the zone', [0.1, 0.4], 0, [1, 0, 0.5 + 2 ** -15, -Infinity]),
    edges('edges of top-p, within the zone', [0.1, 0.4], 0, [1, 0, 0.5 + 2 ** -20, -Infinity]),
    edges('edges of min-p, outside the zone', [0.1, 0.9], 0, [1, 0, 1, Math.log(0.5) + 1e-5], uneven),
    edges('edges of min-p, within the zone', [0.1, 0.9], 0, [1, 0, 1, Math.log(0.5)], uneven),
    {
      name: 'every filter, in rows of their own',
      operands: {
        x: normal(1, [6, 131], 3),
        settings: floats(
          [...usual, ...off, 1, 5, 1, -Infinity, 1.5, 0, 0.7, -Infinity, 2, 0, 1, -2, 0, ...usual.slice(1)],
          [6, 4],
        ),
        random: integers(2, [6, 2], 2 ** 31),
        draws: ints([0, 1, 2, 3, 4, 5]),
      },
      attributes: {},
    },
    {
      name: 'long rows, many draws',
      operands: {
        x: normal(3, [3, 9003], 4),
        settings: floats([1, 0, 0.999, -Infinity, 0.7, 0, 1, -9, 1, 50, 0.9, -Infinity], [3, 4]),
        random: integers(4, [9, 2], 2 ** 31),
        draws: ints([7, 0, 8]),
      },
      attributes: {},
    },
    {
      name: 'topK above V, topP 0, topK 1, a tiny temperature',
      operands: {
        x: normal(5, [4, 40]),
        settings: floats(
          [1, 500, 1, -Infinity, 1, 0, 0, -Infinity, 1, 1, 1, -Infinity, 1e-30, 0, 1, -Infinity],
          [4, 4],
        ),
        random: ints([-1, -1], [1, 2]),
        draws: ints([0, 0, 0, 0]),
      },
      attributes: {},
    },
    {
      name: 'ties',
      operands: {
        x: floats([1, 2, 2, 2, 2, 2, 2, 1, 1, 2, 2, 2, 2, 2, 2, 1], [2, 8]),
        settings: floats([1, 3, 1, -Infinity, 1, 0, 1, 0], [2, 4]),
        random: ints(half, [1, 2]),
        draws: ints([0, 0]),
      },
      attributes: {},
    },
    {
      name: 'NaN and −∞ are never drawn',
      operands: {
        x: floats([Number.NaN, -1, -Infinity, Number.NaN, -Infinity, Number.NaN, Number.NaN, -3], [2, 4]),
        settings: floats([...off, 1, 3, 0.9, -Infinity], [2, 4]),
        random: ints([0, 0, -1, -1], [2, 2]),
        draws: ints([0, 1]),
      },
      attributes: {},
    },
    {
      name: 'rows without a token',
      operands: {
        x: floats([-Infinity, Number.NaN, Infinity, 1, -Infinity, -Infinity, 0, Infinity], [4, 2]),
        settings: floats([...off, ...usual, 0, 0, 1, 0, 0, 0, 1, 0], [4, 4]),
        random: ints(half, [1, 2]),
        draws: ints([0, 0, 0, 0]),
      },
      attributes: {},
    },
    {
      name: 'no rows',
      operands: {
        x: { shape: [0, 9], format: 'f32', values: [] },
        settings: floats([], [0, 4]),
        random: ints([], [0, 2]),
        draws: ints([]),
      },
      attributes: {},
    },
  ],
  errors: () => {
    const fits = {
      x: normal(6, [2, 5]),
      settings: floats([...off, ...off], [2, 4]),
      random: ints([1, 2], [1, 2]),
      draws: ints([0, 0]),
    };
    const refusedSettings = (name: string, settings: readonly number[]) =>
      ({
        name,
        operands: { ...fits, settings: floats([...off, ...settings], [2, 4]) },
        attributes: {},
        code: 'OUT_OF_RANGE',
        when: 'run',
      }) as const;
    const refusedShape = (name: string, change: SampleOperands) =>
      ({
        name,
        operands: { ...fits, ...change },
        attributes: {},
        code: 'BAD_SHAPE',
        when: 'record',
      }) as const;
    const refusedDraw = (name: string, draw: number) =>
      ({
        name,
        operands: { ...fits, draws: ints([0, draw]) },
        attributes: {},
        code: 'OUT_OF_RANGE',
        when: 'run',
      }) as const;
    return [
      refusedDraw('a draw past the end', 1),
      refusedDraw('a negative draw', -1),
      refusedSettings('a negative temperature', [-0.5, 0, 1, 0]),
      refusedSettings('a temperature of NaN', [Number.NaN, 0, 1, 0]),
      refusedSettings('an infinite temperature', [Infinity, 0, 1, 0]),
      refusedSettings('half a token', [1, 2.5, 1, 0]),
      refusedSettings('a negative topK', [1, -1, 1, 0]),
      refusedSettings('topP above 1', [1, 0, 1.5, 0]),
      refusedSettings('topP of NaN', [1, 0, Number.NaN, 0]),
      refusedSettings('min-p above 1', [1, 0, 1, 0.5]),
      refusedShape('settings for another S', { settings: floats(off, [1, 4]) }),
      refusedShape('three words to a draw', { random: ints([1, 2, 3], [1, 3]) }),
      refusedShape('draws for another S', { draws: ints([0]) }),
      refusedShape('no columns', { x: { shape: [2, 0], format: 'f32', values: [] } }),
    ];
  },
});

/**
 * Draws one token per row of logits [S, V], as i32; −1 for a row without a token. `settings` [S, 4]: temperature,
 * top-k (0: all), top-p (1: all), ln min-p (−∞: all). `random` [R, 2]: words of random bits; row s uses
 * `random[draws[s]]`.
 */
export function call(x: Tensor, settings: Tensor, random: Tensor, draws: Tensor): Tensor {
  return record(x, sample, { x, settings, random, draws });
}

export const fill = 'host' satisfies Fill;
