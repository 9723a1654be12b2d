import { badArgument, needRank, needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { mapped } from '../op/numbers.js';
import { stepOf } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { floats, normal, type SampleOperand, zeros } from '../testing/samples.js';
import type { Weight } from '../weight.js';
import { softmax } from './softmax.js';
import { largest, rank } from './top-k.js';

/** Values of the attribute `score`. */
export const routerScores = { softmax: 0, sigmoid: 1, softmaxOfChosen: 2 } as const;

/** How `route` picks experts and weighs them. */
export interface RouteOptions {
  /** Of the experts' logits; 'softmaxOfChosen': logits choose, and the weights are the softmax of the chosen ones. */
  readonly score: keyof typeof routerScores;
  /** k, experts per row. */
  readonly chosen: number;
  /** [E], added to the scores that choose, not to the weights. */
  readonly bias?: Weight | undefined;
  /** The experts lie in `count` groups of one size; those of the best `chosen` groups can be chosen. Absent: all can. */
  readonly groups?: { readonly count: number; readonly chosen: number } | undefined;
  /** The weights of a row are divided by their sum. */
  readonly renormalise?: boolean;
  /** Factor on the weights; absent: 1. */
  readonly scale?: number | undefined;
}

const attributes = {
  score: 'i32',
  chosen: 'i32',
  groups: 'i32',
  groupsChosen: 'i32',
  renormalise: 'i32',
  scale: 'f32',
} as const;

type Routing = { readonly [Name in keyof typeof attributes]: number };
type Values = ArrayLike<number>;

function softmaxOf(values: Values): Float64Array {
  const row = { shape: [values.length], data: Float64Array.from(values) };
  softmax.define({ x: row }, {}, [row]);
  return row.data;
}

function scoresOf(logits: Values, score: number): Values {
  if (score === routerScores.softmax) return softmaxOf(logits);
  return score === routerScores.sigmoid ? mapped(logits, (x) => 1 / (1 + Math.exp(-x))) : logits;
}

/** The sum of a group's two best biased scores. */
function groupValue(biased: Float64Array, size: number, group: number): number {
  const own = biased.subarray(group * size, (group + 1) * size);
  return largest(own, 2).reduce((sum, i) => sum + rank(own[i]!), 0);
}

/** What a row chooses by: values of the groups, and the experts of the best groups with their biased scores. */
function contestOf(scores: Values, bias: Values | undefined, { groups, groupsChosen }: Routing) {
  const biased = mapped(scores, (score, e) => score + (bias?.[e] ?? 0));
  const size = biased.length / groups;
  const values = Array.from({ length: groups }, (_, group) => groupValue(biased, size, group));
  const open = new Set(largest(values, groupsChosen));
  const experts = Array.from(biased.keys()).filter((e) => open.has(Math.floor(e / size)));
  return { values, experts, biased: experts.map((e) => biased[e]!) };
}

/** Experts and weights of one row, k each. */
function routeRow(logits: Values, bias: Values | undefined, routing: Routing) {
  const scores = scoresOf(logits, routing.score);
  const { experts, biased } = contestOf(scores, bias, routing);
  const ids = largest(biased, routing.chosen).map((i) => experts[i]!);
  const own = ids.map((e) => scores[e]!);
  const weights = routing.score === routerScores.softmaxOfChosen ? softmaxOf(own) : own;
  const sum = routing.renormalise ? Array.from(weights).reduce((a, b) => a + b, 1e-20) : 1;
  return { ids, weights: mapped(weights, (weight) => (routing.scale * weight) / sum) };
}

/** The smallest distance between neighbours of the k + 1 largest values. */
function gapOf(values: Values, k: number): number {
  const falling = largest(values, k + 1).map((i) => values[i]!);
  return Math.min(...falling.slice(1).map((value, i) => falling[i]! - value));
}

/** Logits and a bias whose choices no rounding changes. Rows with narrow ones are drawn again. */
export function routeOperands(
  seed: number,
  [T, E]: readonly [T: number, E: number],
  routing: Routing,
  bias?: SampleOperand,
) {
  const values = new Float32Array(T * E);
  for (let t = 0, draw = 1; t < T; draw++) {
    const logits = Float32Array.from(normal(7919 * seed + draw, [E], 2).values);
    const contest = contestOf(scoresOf(logits, routing.score), bias?.values, routing);
    const gap = Math.min(gapOf(contest.values, routing.groupsChosen), gapOf(contest.biased, routing.chosen));
    if (gap > 2 ** -14) values.set(logits, E * t++);
  }
  return { logits: { shape: [T, E], format: 'f32', values } satisfies SampleOperand, ...(bias && { bias }) };
}

const plain: Routing = { score: 1, chosen: 2, groups: 1, groupsChosen: 1, renormalise: 1, scale: 1 };

const sample = (
  name: string,
  [T, E]: readonly [T: number, E: number],
  routing: Partial<Routing>,
  bias?: SampleOperand,
) => {
  const all = { ...plain, ...routing };
  return { name, operands: routeOperands(1, [T, E], all, bias), attributes: all };
};

const given = (name: string, operands: Record<string, SampleOperand>, routing: Partial<Routing>) => ({
  name,
  operands,
  attributes: { ...plain, ...routing },
});

const refused = (name: string, routing: Partial<Routing>, operands: Record<string, SampleOperand> = {}) =>
  ({
    ...given(name, { logits: normal(9, [2, 8]), ...operands }, routing),
    code: operands.bias ? 'BAD_SHAPE' : 'BAD_ARGUMENT',
    when: 'record',
  }) as const;

/** Throws BAD_ARGUMENT unless `value` is a whole number from `least` to `most`. */
function needWithin(name: string, value: number, least: number, most: number, why: string): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw badArgument(
      'route',
      `${name} must be a whole number from ${least} to ${most} (${why}); got ${value}`,
    );
}

export const route = defineOp({
  name: 'route',
  doc:
    'The router of a mixture of experts: logits [T, E] → ids [T, k] (i32) and weights [T, k] of the k = `chosen` experts of each row. ' +
    'Scores s: score 0 softmax(logits), 1 σ(logits), 2 the logits. The experts lie in `groups` groups of one size; the value of a group is the sum of its two largest s + bias. ' +
    'Only experts of the `groupsChosen` groups of the largest values can be chosen: those with the largest s + bias, in falling order. Ties go to the lowest index, NaN counts as −∞. ' +
    'Weights: s of the chosen, or with score 2 the softmax of their logits; with renormalise = 1 divided by their sum + 10⁻²⁰; then times `scale`. ' +
    'Values within 2⁻¹⁶ of each other may change places, because f32 need not tell them apart.',
  source: 'DeepSeek-AI 2024, DeepSeek-V3 Technical Report, §2.1.2',
  operands: {
    logits: { kind: 'tensor', dtypes: ['f32'] },
    bias: { kind: 'weight', optional: true },
  },
  attributes,
  outputs: ['ids', 'weights'],
  accumulation: 'f32',
  infer({ logits, bias }, { score, chosen, groups, groupsChosen, renormalise }) {
    needRank('route', 'logits', logits, 2, '[T, E]');
    const [T, E] = logits.shape as [number, number];
    if (bias) needShape('route', 'bias', bias.shape, [E], 'E of logits');
    needWithin('score', score, 0, 2, 'softmax, sigmoid, softmax of the chosen');
    needWithin('renormalise', renormalise, 0, 1, 'no or yes');
    needWithin('groups', groups, 1, E, 'experts');
    if (E % groups !== 0) throw badArgument('route', `groups must divide ${E} (experts); got ${groups}`);
    needWithin('groupsChosen', groupsChosen, 1, groups, 'groups');
    needWithin('chosen', chosen, 1, (groupsChosen * E) / groups, 'experts of the chosen groups');
    return [
      { shape: [T, chosen], dtype: 'i32' },
      { shape: [T, chosen], dtype: 'f32' },
    ];
  },
  define({ logits, bias }, routing, [ids, weights]) {
    const [T, E] = logits.shape as [number, number];
    for (let t = 0; t < T; t++) {
      const row = routeRow(logits.data.subarray(t * E, (t + 1) * E), bias?.data, routing);
      ids!.data.set(row.ids, t * routing.chosen);
      weights!.data.set(row.weights, t * routing.chosen);
    }
  },
  tolerance: {
    f32: { absolute: 1e-7, relative: 1e-5 },
    f16: { absolute: 1e-7, relative: 1e-5 },
    bf16: { absolute: 1e-7, relative: 1e-5 },
  },
  samples: () => [
    sample('sigmoid, a bias that chooses', [5, 24], { chosen: 4, scale: 2.5 }, normal(2, [24], 0.5)),
    sample('sigmoid, not normalised', [3, 9], { renormalise: 0 }),
    sample('softmax over all', [3, 40], { score: 0, chosen: 6, renormalise: 0, scale: 16 }),
    sample('softmax over all, a bias, normalised', [2, 17], { score: 0, chosen: 3 }, normal(3, [17], 0.1)),
    sample('softmax over the chosen', [3, 31], { score: 2, chosen: 5 }, normal(4, [31])),
    sample('groups', [9, 32], { chosen: 5, groups: 8, groupsChosen: 3 }, normal(5, [32], 0.2)),
    sample('groups of one expert', [4, 6], { chosen: 2, groups: 6, groupsChosen: 3 }),
    sample(
      'biases far below zero',
      [3, 16],
      { groups: 4, groupsChosen: 1 },
      {
        ...normal(6, [16]),
        values: Float32Array.from(normal(6, [16]).values, (x) => x - 9),
      },
    ),
    sample(
      'many experts',
      [3, 256],
      { chosen: 8, groups: 8, groupsChosen: 4, scale: 2.5 },
      normal(7, [256], 0.1),
    ),
    sample('all experts', [2, 5], { chosen: 5 }),
    sample('one expert', [3, 1], { chosen: 1, renormalise: 0 }),
    sample('no rows', [0, 8], {}),
    given(
      'ties',
      { logits: floats([1, 2, 2, 1, 2, 2, 1, 0], [1, 8]) },
      { chosen: 3, groups: 4, groupsChosen: 3 },
    ),
    given(
      'NaN and infinities',
      { logits: floats([Number.NaN, 1, -Infinity, 0, Infinity, 0, Number.NaN, Number.NaN], [2, 4]) },
      { chosen: 3, renormalise: 0, groups: 2, groupsChosen: 2 },
    ),
    given('large logits', { logits: floats([90, -90, -200, -150], [1, 4]) }, { chosen: 2 }),
  ],
  errors: () => [
    refused('an unknown score', { score: 3 }),
    refused('more experts than the groups have', { chosen: 5, groups: 2 }),
    refused('groups of two sizes', { groups: 3 }),
    refused('no group', { groups: 2, groupsChosen: 0 }),
    refused('a bias of other experts', {}, { bias: zeros([7]) }),
  ],
});

/** Experts `ids` [T, k] (i32) of each row of logits [T, E], and the weights [T, k] of their outputs. */
export function call(
  logits: Tensor,
  options: RouteOptions,
): { readonly ids: Tensor; readonly weights: Tensor } {
  const { score, chosen, bias, groups, renormalise = false, scale = 1 } = options;
  const [ids, weights] = stepOf('route', logits).record(
    route,
    { logits, bias },
    {
      ...{ score: routerScores[score], chosen, groups: groups?.count ?? 1 },
      ...{ groupsChosen: groups?.chosen ?? 1, renormalise: renormalise ? 1 : 0, scale },
    },
  );
  return { ids: ids!, weights: weights! };
}

export const fill = 'refuse' satisfies Fill;
