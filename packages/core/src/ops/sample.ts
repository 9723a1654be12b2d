import { badShape, needRank, needShape, outOfRange } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { floats, integers, ints, normal, type SampleOperands } from '../op/sample.js';

const noToken = -1;

/** How a row's token is drawn. */
interface Settings {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly logMinP: number;
}

/** The settings of row `s`, or OUT_OF_RANGE. */
function settingsOf(data: ArrayLike<number>, s: number): Settings {
  const [temperature, topK, topP, logMinP] = [0, 1, 2, 3].map((i) => data[4 * s + i]!) as [
    number,
    number,
    number,
    number,
  ];
  const holds =
    temperature >= 0 &&
    temperature < Infinity &&
    topK >= 0 &&
    Number.isInteger(topK) &&
    topP >= 0 &&
    topP <= 1 &&
    logMinP <= 0;
  if (!holds)
    throw outOfRange(
      'sample',
      `settings[${s}] must be a finite temperature from 0, a whole topK from 0, topP from 0 to 1, and a logarithm up to 0; ` +
        `got ${temperature}, ${topK}, ${topP}, ${logMinP}`,
    );
  return { temperature, topK, topP, logMinP };
}

/** Two words of 32 random bits as a number in [0, 1) of 53 bits. */
const uniform = (high: number, low: number): number => ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;

const sumOf = (weights: readonly number[]) => weights.reduce((sum, weight) => sum + weight, 0);

/** The tokens that the filters leave of a row [V] whose largest element is finite, in the order in which they are drawn from. */
function kept(x: ArrayLike<number>, highest: number, { topK, topP, logMinP }: Settings): number[] {
  const possible = Array.from({ length: x.length }, (_, i) => i).filter((i) => x[i]! > -Infinity);
  const reaches = (i: number) => x[i]! >= highest + logMinP;
  if (topK === 0 && topP === 1) return possible.filter(reaches);
  const ordered = possible.sort((i, j) => x[j]! - x[i]! || i - j).slice(0, topK || undefined);
  return ordered.slice(0, topP < 1 ? nucleus(ordered, x, highest, topP) : undefined).filter(reaches);
}

/** How many of ordered tokens reach `topP` of all their probability; at least one. */
function nucleus(ordered: readonly number[], x: ArrayLike<number>, highest: number, topP: number): number {
  const weights = ordered.map((i) => Math.exp(x[i]! - highest));
  const wanted = topP * sumOf(weights);
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    sum += weights[i]!;
    if (sum >= wanted) return i + 1;
  }
  return ordered.length;
}

/** One of `tokens` with a probability in proportion to its weight; the last that has one, should rounding leave a remainder. */
function drawn(tokens: readonly number[], weights: readonly number[], random: number): number {
  let left = random * sumOf(weights);
  let last = 0;
  for (let i = 0; i < tokens.length; i++) {
    if (weights[i]! > 0) last = i;
    left -= weights[i]!;
    if (left < 0) break;
  }
  return tokens[last]!;
}

function likeliest(x: ArrayLike<number>): number {
  let best = 0;
  let highest = -Infinity;
  for (let i = 0; i < x.length; i++) if (x[i]! > highest) [best, highest] = [i, x[i]!];
  return best;
}

function token(x: ArrayLike<number>, settings: Settings, random: number): number {
  const best = likeliest(x);
  if (settings.temperature === 0) return best;
  const highest = x[best]!;
  if (!(highest > -Infinity && highest < Infinity)) return noToken;
  const tokens = kept(x, highest, settings);
  const weights = tokens.map((i) => Math.exp((x[i]! - highest) / settings.temperature));
  return drawn(tokens, weights, random);
}

const off = [1, 0, 1, -Infinity];
const usual = [0.8, 40, 0.95, Math.log(0.05)];
/** Random words in the middle of [0, 1). */
const half = [0x7fffffff, -1];

export const sample = defineOp({
  name: 'sample',
  doc:
    'Draws a token from each row of logits: x [S, V], settings [S, 4], random [R, 2], draws [S] → [S] as i32, −1 where there is none. ' +
    'settings[s] are the temperature, top-k (0: all), top-p (1: all) and the natural logarithm of min-p (−∞: all). ' +
    'Row s uses the words of 32 random bits random[draws[s]], whose upper 27 and 26 bits make u in [0, 1). ' +
    'Of the k largest elements those stay that reach top-p of their softmax, the fewest in falling order, ties by index; then those within −ln min-p of the largest. ' +
    'Of what stays, in that order (by index where neither top-k nor top-p is set), the first is drawn at which the sum of softmax(x / temperature) exceeds u. ' +
    'Temperature 0 takes what argmax takes. NaN counts as −∞, which is never drawn; a row that has +∞, or nothing above −∞, gives −1.',
  source: 'Holtzman et al. 2020 (top-p); Nguyen et al. 2024 (min-p); the order is that of llama.cpp',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    settings: { kind: 'tensor', dtypes: ['f32'] },
    random: { kind: 'tensor', dtypes: ['i32'] },
    draws: { kind: 'tensor', dtypes: ['i32'] },
  },
  attributes: {},
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
      y!.data[s] = token(x.data.subarray(s * V, (s + 1) * V), settingsOf(settings.data, s), u);
    }
  },
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [
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
      name: 'a long row, many draws',
      operands: {
        x: { ...normal(3, [1, 5003], 4), shape: [1, 5003] },
        settings: floats([1, 0, 0.999, -Infinity], [1, 4]),
        random: integers(4, [9, 2], 2 ** 31),
        draws: ints([7]),
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
