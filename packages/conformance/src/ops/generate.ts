import {
  type CoreOpName,
  denseFormats,
  elementCount,
  type FusedOpName,
  lowRankOperands,
  moeOperands,
  routeOperands,
  type SampleOperand,
  showShape,
} from '@quern/core';
import { as, floats, ints } from '@quern/core/testing';
import { Dice } from '../values/dice.js';
import type { OpCase } from './expect.js';
import { attentionCase, uncachedAttentionCase } from './generate-attention.js';
import { gatedDeltaCase, shortConvCase } from './generate-states.js';

type Generator = (dice: Dice) => Omit<OpCase, 'name'>;

/** Around the widths of vector registers and blocks, and above. */
const widths = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 129];
const rowCounts = [0, 1, 2, 3, 4, 5, 8, 13, 17];

const width = (dice: Dice) => dice.pick(widths);
const rows = (dice: Dice) => dice.turn(rowCounts);
const dense = (dice: Dice, operand: SampleOperand) => as(dice.pick(denseFormats), operand);
const weight = (dice: Dice, N: number, K: number) => dense(dice, dice.normal([N, K], 1 / Math.sqrt(K)));
const epsilons = [1e-6, 1e-5, 0.01];

const activation =
  (attributes: (dice: Dice) => Readonly<Record<string, number>>): Generator =>
  (dice) => ({
    operands: { x: dice.withNaN([rows(dice), width(dice)], dice.pick([1, 4, 20])) },
    attributes: attributes(dice),
  });

const binary: Generator = (dice) => {
  const shape = [rows(dice), width(dice)];
  return {
    operands: { a: dice.withNaN(shape), b: dice.withNaN(dice.chance(0.5) ? shape : shape.slice(1)) },
    attributes: {},
  };
};

const gated: Generator = (dice) => {
  const shape = [rows(dice), width(dice)];
  return { operands: { gate: dice.withNaN(shape, 4), up: dice.normal(shape) }, attributes: {} };
};

/** Small whole numbers, to get ties. */
const withTies = (dice: Dice, shape: readonly number[]): SampleOperand => {
  const { values } = dice.withNaN(shape, 3);
  return { shape, format: 'f32', values: Float32Array.from(values, Math.round) };
};

const kvAppend: Generator = (dice) => {
  const [T, Hk, d] = [dice.int(0, 9), dice.int(1, 3), dice.pick([1, 8, 13, 32])];
  const [blocks, blockSize] = [dice.int(2, 5), dice.pick([1, 3, 4, 8])];
  const cache = () => as(dice.pick(['f32', 'f16'] as const), dice.normal([blocks, blockSize, Hk, d]));
  const kCache = cache();
  const vCache = as(kCache.format, cache());
  const slots = Array.from({ length: T }, () => dice.int(-1, blocks * blockSize - 1));
  return {
    operands: { k: dice.normal([T, Hk, d]), v: dice.normal([T, Hk, d]), slots: ints(slots), kCache, vCache },
    attributes: {},
  };
};

const rope: Generator = (dice) => {
  const [T, H, half] = [rows(dice), dice.int(1, 5), dice.pick([1, 3, 4, 8, 17, 32])];
  const d = 2 * half + (dice.chance(0.3) ? dice.int(1, 9) : 0);
  return {
    operands: { x: dice.normal([T, H, d]), table: dice.normal([T, 2 * half]) },
    attributes: { layout: dice.int(0, 1) },
  };
};

const ropeTable: Generator = (dice) => {
  const pairs = dice.pick([1, 3, 8, 32, 33]);
  const frequencies = floats(Array.from({ length: pairs }, (_, i) => 10000 ** (-i / pairs)));
  return {
    operands: { positions: dice.integers([rows(dice)], dice.pick([10, 5000, 200000])), frequencies },
    attributes: { magnitude: dice.pick([1, 1.25, 1.1]) },
  };
};

const penalise: Generator = (dice) => {
  const [S, V, L] = [rows(dice), width(dice), dice.pick([0, 1, 7, 40])];
  const tokens = Array.from({ length: S * L }, () => dice.int(-1, V - 1));
  const strengths = Array.from({ length: S }, () => [
    dice.pick([1, 1.5]),
    dice.pick([0, 0.5]),
    dice.pick([0, 0.25]),
  ]);
  return {
    operands: {
      x: dice.normal([S, V], 3),
      tokens: ints(tokens, [S, L]),
      strengths: floats(strengths.flat(), [S, 3]),
    },
    attributes: {},
  };
};

const logProbs: Generator = (dice) => {
  const [S, V, k] = [rows(dice), width(dice), dice.pick([0, 1, 7, 40])];
  const tokens = Array.from({ length: S * k }, () => dice.int(-1, V - 1));
  return { operands: { x: dice.normal([S, V], 4), tokens: ints(tokens, [S, k]) }, attributes: {} };
};

const sample: Generator = (dice) => {
  const [S, V, R] = [rows(dice), width(dice), dice.int(1, 20)];
  const settings = Array.from({ length: S }, () => [
    dice.pick([0, 0.1, 0.8, 1, 3]),
    dice.pick([0, 0, 1, 5, 40, V, 10_000]),
    dice.pick([0, 0.3, 0.95, 1, 1]),
    dice.pick([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, -3, -0.5, 0]),
  ]);
  const words = Array.from({ length: 2 * R }, () => dice.int(-(2 ** 31), 2 ** 31 - 1));
  return {
    operands: {
      x: dice.chance(0.5) ? withTies(dice, [S, V]) : dice.withNaN([S, V], dice.pick([1, 4])),
      settings: floats(settings.flat(), [S, 4]),
      random: ints(words, [R, 2]),
      draws: dice.integers([S], R),
    },
    attributes: {},
  };
};

const maskLogits: Generator = (dice) => {
  const [S, V] = [rows(dice), width(dice)];
  const words = Array.from({ length: S * Math.ceil(V / 32) }, () => dice.int(-(2 ** 31), 2 ** 31 - 1));
  return {
    operands: { x: dice.normal([S, V]), bits: ints(words, [S, Math.ceil(V / 32)]) },
    attributes: {},
  };
};

const linear: Generator = (dice) => {
  const [T, K, N] = [rows(dice), width(dice), width(dice)];
  const bias = dice.chance(0.3) && { bias: dense(dice, dice.normal([N])) };
  const operands = { x: dice.normal([T, K]), w: weight(dice, N, K), ...bias };
  return { operands, attributes: { batchInvariant: dice.int(0, 1) } };
};

const rmsNorm: Generator = (dice) => {
  const shape = [rows(dice), ...(dice.chance(0.3) ? [dice.int(1, 4)] : []), width(dice)];
  return {
    operands: {
      x: dice.withNaN(shape, dice.pick([0.01, 1, 50])),
      w: dense(dice, dice.normal(shape.slice(-1))),
    },
    attributes: { eps: dice.pick(epsilons) },
  };
};

const layerNorm: Generator = (dice) => {
  const { operands, attributes } = rmsNorm(dice);
  return { operands: { ...operands, b: dense(dice, dice.normal(operands.w!.shape)) }, attributes };
};

const pool: Generator = (dice) => {
  const cuSeqlens = [0];
  for (let s = dice.pick([0, 1, 2, 5]); s > 0; s--)
    cuSeqlens.push(cuSeqlens[cuSeqlens.length - 1]! + dice.pick([1, 2, 9, 40]));
  return {
    operands: {
      x: dice.withNaN([cuSeqlens[cuSeqlens.length - 1]!, width(dice)]),
      cuSeqlens: ints(cuSeqlens),
    },
    attributes: { by: dice.turn([0, 1, 2]) },
  };
};

const topK: Generator = (dice) => {
  const V = width(dice);
  return { operands: { x: withTies(dice, [rows(dice), V]) }, attributes: { k: dice.int(1, V) } };
};

/** A bias in eighths: every dense format holds them. */
const route: Generator = (dice) => {
  const groups = dice.pick([1, 1, 2, 4, 8]);
  const groupsChosen = dice.int(1, groups);
  const each = dice.pick([1, 2, 3, 8, 17, 40]);
  const E = groups * each;
  const routing = {
    ...{
      score: dice.turn([0, 1, 2]),
      chosen: dice.int(1, Math.min(8, groupsChosen * each)),
      groups,
      groupsChosen,
    },
    ...{ renormalise: dice.int(0, 1), scale: dice.pick([1, 0.5, 2.5]) },
  };
  const eighths = Array.from(dice.normal([E]).values, (value) => Math.round(8 * value) / 8);
  const bias = dice.chance(0.7) ? dense(dice, floats(eighths)) : undefined;
  return {
    operands: routeOperands(dice.int(1, 10_000), [rows(dice), E], routing, bias),
    attributes: routing,
  };
};

const qkNormRopeAppend: Generator = (dice) => {
  const [T, H, Hk, half] = [dice.int(0, 9), 4, dice.pick([1, 2, 4]), dice.pick([4, 8, 32])];
  const d = 2 * half;
  const format = dice.pick(['f32', 'f16'] as const);
  const cache = () => as(format, dice.normal([3, 4, Hk, d]));
  const norms = dice.chance(0.5) && { qNorm: dice.normal([d]), kNorm: dice.normal([d]) };
  return {
    operands: {
      q: dice.normal([T, H, d]),
      k: dice.normal([T, Hk, d]),
      v: dice.normal([T, Hk, d]),
      ...norms,
      table: dice.normal([T, d]),
      slots: ints(dice.permutation(12).slice(0, T)),
      kCache: cache(),
      vCache: cache(),
    },
    attributes: { eps: norms ? dice.pick(epsilons) : 0, layout: dice.int(0, 1) },
  };
};

const generators: Readonly<Record<CoreOpName | FusedOpName, Generator>> = {
  embed: (dice) => {
    const V = width(dice);
    return {
      operands: { table: dense(dice, dice.normal([V, width(dice)])), ids: dice.integers([rows(dice)], V) },
      attributes: {},
    };
  },
  linear,
  add: binary,
  mul: binary,
  scale: activation((dice) => ({ factor: dice.pick([-0.3, 0, 1, 0.1, 7.7, Math.sqrt(1152)]) })),
  clamp: activation((dice) => ({ low: dice.pick([-Infinity, -1, 0]), high: dice.pick([0, 0.5, Infinity]) })),
  rmsNorm,
  silu: activation(() => ({})),
  gelu: activation((dice) => ({ form: dice.int(0, 1) })),
  swiglu: gated,
  geglu: gated,
  ropeTable,
  rope,
  attention: attentionCase,
  kvAppend,
  shortConv: shortConvCase,
  gatedDelta: gatedDeltaCase,
  softmax: activation(() => ({})),
  argmax: (dice) => ({ operands: { x: withTies(dice, [rows(dice), width(dice)]) }, attributes: {} }),
  topK,
  route,
  maskLogits,
  penalise,
  logProbs,
  sample,
  gatherRows: (dice) => {
    const T = dice.int(1, 20);
    return {
      operands: { x: dice.normal([T, width(dice)]), rows: dice.integers([rows(dice)], T) },
      attributes: {},
    };
  },
  cast: (dice) => ({
    operands: {
      x: dense(dice, dice.withNaN([rows(dice), width(dice)], dice.pick([1e-7, 1e-3, 1, 3e4]))),
    },
    attributes: { to: dice.int(0, 2) },
  }),
  expertLinear: (dice) => {
    const [R, K, N, E, k] = [rows(dice), width(dice), width(dice), dice.int(1, 9), dice.int(1, 4)];
    const w = dense(dice, dice.normal([E, N, K], 1 / Math.sqrt(K)));
    return { operands: { x: dice.normal([R, K]), w, ids: dice.integers([R, k], E) }, attributes: {} };
  },
  weightedSum: (dice) => {
    const [T, k] = [rows(dice), dice.int(1, 9)];
    return {
      operands: { x: dice.withNaN([T, k, width(dice)]), weights: dice.normal([T, k]) },
      attributes: {},
    };
  },
  layerNorm,
  uncachedAttention: uncachedAttentionCase,
  pool,
  l2Normalise: activation(() => ({})),
  conv1d: (dice) => {
    const [T, C, N] = [dice.turn([0, 1, 2, 3, 5, 18, 33, 70]), dice.pick([1, 2, 7, 16, 33]), width(dice)];
    const taps = dice.pick([1, 2, 3, 5, 8]);
    const bias = dice.chance(0.5) && { bias: dense(dice, dice.normal([N])) };
    return {
      operands: { x: dice.normal([T, C]), w: weight(dice, N, taps * C), ...bias },
      attributes: { stride: dice.int(1, 4), padding: dice.int(0, 4) },
    };
  },
  log10: activation((dice) => ({ floor: dice.pick([1e-10, 1e-3, 0.5, 0.1]) })),
  tanh: activation(() => ({})),
  sigmoid: activation(() => ({})),
  softplus: (dice) => {
    const N = width(dice);
    const vector = () => dice.normal([N]);
    return {
      operands: {
        x: dice.withNaN([rows(dice), N], dice.pick([1, 4, 20])),
        ...(dice.chance(0.5) && { bias: vector() }),
        ...(dice.chance(0.5) && { factor: vector() }),
      },
      attributes: {},
    };
  },
  addRmsNorm: (dice) => {
    const D = width(dice);
    const shape = [rows(dice), D];
    return {
      operands: { a: dice.withNaN(shape), b: dice.normal(shape), w: dense(dice, dice.normal([D])) },
      attributes: { eps: dice.pick(epsilons) },
    };
  },
  addLayerNorm: (dice) => {
    const D = width(dice);
    const shape = [rows(dice), D];
    return {
      operands: {
        a: dice.withNaN(shape),
        b: dice.normal(shape),
        w: dense(dice, dice.normal([D])),
        bias: dense(dice, dice.normal([D])),
      },
      attributes: { eps: dice.pick(epsilons) },
    };
  },
  biasGelu: (dice) => {
    const [T, K, N] = [rows(dice), width(dice), width(dice)];
    return {
      operands: { x: dice.normal([T, K]), w: weight(dice, N, K), bias: dense(dice, dice.normal([N])) },
      attributes: { form: dice.int(0, 1), batchInvariant: dice.int(0, 1) },
    };
  },
  gateUpSwiglu: (dice) => {
    const [T, K, F] = [rows(dice), width(dice), width(dice)];
    return {
      operands: { x: dice.normal([T, K]), gate: weight(dice, F, K), up: weight(dice, F, K) },
      attributes: { batchInvariant: dice.int(0, 1) },
    };
  },
  qkvLinear: (dice) => {
    const [T, K, N, Nkv] = [rows(dice), width(dice), width(dice), width(dice)];
    const biases = dice.chance(0.5) && { qBias: dice.normal([N]), vBias: dice.normal([Nkv]) };
    return {
      operands: {
        x: dice.normal([T, K]),
        q: weight(dice, N, K),
        k: weight(dice, Nkv, K),
        v: weight(dice, Nkv, K),
        ...biases,
      },
      attributes: { batchInvariant: dice.int(0, 1) },
    };
  },
  qkNormRopeAppend,
  linearMask: (dice) => {
    const [S, K, N] = [rows(dice), width(dice), dice.pick([1, 31, 32, 33, 127, 129, 300, 1000])];
    const words = Math.ceil(N / 32);
    const bits = Array.from({ length: S * words }, () =>
      dice.chance(0.7) ? 0 : dice.pick([-1, dice.int(0, 2 ** 31 - 1), 1 << dice.int(0, 31)]),
    );
    const operands = { x: dice.normal([S, K]), w: weight(dice, N, K), bits: ints(bits, [S, words]) };
    return { operands, attributes: {} };
  },
  moe: (dice) => {
    const [E, T] = [dice.int(1, 9), rows(dice)];
    const chosen = dice.int(1, E);
    const sizes = [T, dice.pick([8, 15, 32, 65]), E, width(dice)] as const;
    const { gate, up, down, ...exact } = moeOperands(dice.int(1, 10_000), sizes, chosen);
    const format = dice.pick(denseFormats);
    return {
      operands: { ...exact, gate: as(format, gate), up: as(format, up), down: as(format, down) },
      attributes: { chosen, renormalise: dice.int(0, 1) },
    };
  },
  addLowRank: (dice) => {
    const sizes = { T: rows(dice), K: width(dice), N: width(dice), R: dice.pick([1, 4, 8, 16, 33]) };
    const stack = { E: dice.int(1, 5), k: dice.int(1, 3) };
    const format = dice.pick(denseFormats);
    return { operands: lowRankOperands(dice.int(1, 10_000), { ...sizes, ...stack }, format), attributes: {} };
  },
  linearArgmax: (dice) => {
    const [T, K, N] = [rows(dice), width(dice), width(dice)];
    return { operands: { x: dice.normal([T, K]), w: weight(dice, N, K) }, attributes: {} };
  },
};

const casesPerOp = 10;

const describe = ({ operands }: Omit<OpCase, 'name'>) =>
  Object.entries(operands)
    .filter(([, { shape }]) => elementCount(shape) !== 1 || shape.length > 1)
    .map(([name, { shape, format }]) => `${name} ${format}${showShape(shape)}`)
    .join(' ');

/** Generated cases of an op: the same cases for the same seed. */
export function generate(name: CoreOpName | FusedOpName, from = 0): OpCase[] {
  return Array.from({ length: casesPerOp }, (_, i) => {
    const seed = casesPerOp * from + i;
    const made = generators[name](new Dice(1000 + seed, i));
    return { name: `seed ${seed}: ${describe(made)}`, ...made };
  });
}
