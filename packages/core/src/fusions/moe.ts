import { badArgument, needRank, needShape, rowCount } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import { mapped, type Numbers } from '../op/numbers.js';
import { expertLinear } from '../ops/expert-linear.js';
import { defineLinear, inferLinear, linearMagnitude, linearTolerance } from '../ops/linear.js';
import { softmax } from '../ops/softmax.js';
import { swiglu } from '../ops/swiglu.js';
import { topK } from '../ops/top-k.js';
import { weightedSum } from '../ops/weighted-sum.js';
import { as, normal, type SampleOperand } from '../testing/samples.js';

interface Operands {
  readonly x: Numbers;
  readonly router: Numbers;
  readonly gate: Numbers;
  readonly up: Numbers;
  readonly down: Numbers;
  readonly residual: Numbers;
}
interface Routing {
  readonly chosen: number;
  readonly renormalise: number;
}

const zeros = (...shape: number[]): Numbers => ({
  shape,
  data: new Float64Array(shape.reduce((n, d) => n * d, 1)),
});
const viewed = ({ data }: Numbers, ...shape: number[]): Numbers => ({ shape, data });
const combined = (a: Numbers, b: Numbers, of: (a: number, b: number) => number): Numbers => ({
  shape: a.shape,
  data: mapped(a.data, (value, i) => of(value, b.data[i]!)),
});

/** Experts of each row, and the factors of their outputs: ids and weights [T, k]. */
function route({ x, router }: Operands, { chosen, renormalise }: Routing) {
  const T = rowCount(x.shape);
  const scores = zeros(T, router.shape[0]!);
  defineLinear(x, router, undefined, scores);
  if (!renormalise) softmax.define({ x: scores }, {}, [scores]);
  const [weights, ids] = [zeros(T, chosen), zeros(T, chosen)];
  topK.define({ x: scores }, { k: chosen }, [weights, ids]);
  if (renormalise) softmax.define({ x: weights }, {}, [weights]);
  return { ids, weights };
}

type ByExpert = (operands: { x: Numbers; w: Numbers; ids: Numbers }) => Numbers;

const byExpert =
  (fill: typeof expertLinear.define): ByExpert =>
  (operands) => {
    const y = zeros(operands.x.shape[0]!, operands.ids.shape[1]!, operands.w.shape[1]!);
    fill(operands, {}, [y]);
    return y;
  };
const product = byExpert(expertLinear.define);
const magnitudeOf = byExpert(expertLinear.magnitude!);
const roundingOf = byExpert(expertLinear.rounding!);
const add = (a: number, b: number) => a + b;
const multiply = (a: number, b: number) => a * b;

/** h [T, k, F] times `down` of the same experts, by `form` → [T, k, D]. */
function projectDown(form: ByExpert, h: Numbers, { down }: Operands, ids: Numbers): Numbers {
  const [T, k, F] = h.shape as [number, number, number];
  const y = form({ x: viewed(h, T * k, F), w: down, ids: viewed(ids, T * k, 1) });
  return viewed(y, T, k, down.shape[1]!);
}

function defineMoe(operands: Operands, routing: Routing, y: Numbers): void {
  const { x, gate, up, residual } = operands;
  const { ids, weights } = route(operands, routing);
  const h = product({ x, w: gate, ids });
  swiglu.define({ gate: h, up: product({ x, w: up, ids }) }, {}, [h]);
  weightedSum.define({ x: projectDown(product, h, operands, ids), weights }, {}, [y]);
  y.data.set(combined(y, residual, add).data);
}

/** The error of silu is at most 1.1 times the error of its argument. */
const siluSlope = 1.1;

/** Σ|terms| of the nested products, plus the effect of errors in the router scores. */
function moeMagnitude(operands: Operands, routing: Routing, y: Numbers): void {
  const { x, router, gate, up, residual } = operands;
  const { ids, weights } = route(operands, routing);
  const [g, u] = [magnitudeOf({ x, w: gate, ids }), magnitudeOf({ x, w: up, ids })];
  const h = combined(g, u, (a, b) => 2 * siluSlope * a * b);
  const scores = zeros(x.shape[0]!, router.shape[0]!);
  linearMagnitude(x, router, undefined, scores);
  const k = routing.chosen;
  const shaken = Float64Array.from(weights.data, (weight, i) => {
    const row = Math.floor(i / k);
    const E = router.shape[0]!;
    return weight * (1 + 2 * Math.max(...scores.data.subarray(row * E, (row + 1) * E)));
  });
  const sums = projectDown(magnitudeOf, h, operands, ids);
  weightedSum.define({ x: sums, weights: { shape: weights.shape, data: shaken } }, {}, [y]);
  y.data.set(combined(y, residual, (sum, value) => sum + Math.abs(value)).data);
}

/** Error in h from rounding x, and error in the sum from both that and the rounding of h. */
function moeRounding(operands: Operands, routing: Routing, y: Numbers): void {
  const { x, gate, up } = operands;
  const { ids, weights } = route(operands, routing);
  const [g, u] = [magnitudeOf({ x, w: gate, ids }), magnitudeOf({ x, w: up, ids })];
  const [dg, du] = [roundingOf({ x, w: gate, ids }), roundingOf({ x, w: up, ids })];
  const error = combined(combined(dg, combined(u, du, add), multiply), combined(g, du, multiply), add);
  const dh = combined(error, error, (value) => siluSlope * value);
  const h = product({ x, w: gate, ids });
  swiglu.define({ gate: h, up: product({ x, w: up, ids }) }, {}, [h]);
  const largest = combined(h, dh, (value, by) => Math.abs(value) + by);
  const passed = projectDown(magnitudeOf, dh, operands, ids);
  const rounded = projectDown(roundingOf, largest, operands, ids);
  weightedSum.define({ x: combined(passed, rounded, add), weights }, {}, [y]);
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

/** Whether a clear gap separates the best `chosen` scores from the others. */
function isClear(scores: readonly number[], chosen: number, gap: number): boolean {
  const falling = [...scores].sort((a, b) => b - a);
  return chosen === scores.length || falling[chosen - 1]! - falling[chosen]! > gap;
}

/** x [T, D] and a router [E, D] whose choices no rounding changes. Rows with unclear choices are drawn again. */
export function clearRouting(seed: number, [T, D, E]: readonly [number, number, number], chosen: number) {
  const router = normal(seed, [E, D], 1 / Math.sqrt(D)); // scores of the order of one
  const values = new Float32Array(T * D);
  const experts = Array.from({ length: E }, (_, e) =>
    Float32Array.from(router.values).subarray(e * D, (e + 1) * D),
  );
  const gap = 0.01;
  for (let t = 0, draw = 1; t < T; draw++) {
    const row = Float32Array.from(normal(7919 * seed + draw, [D]).values);
    const scores = experts.map((expert) => dot(row, expert));
    if (isClear(scores, chosen, gap)) values.set(row, D * t++);
  }
  return { x: { shape: [T, D], format: 'f32', values } satisfies SampleOperand, router };
}

/** Operands except the experts' matrices. */
export function moeInputs(
  seed: number,
  [T, D, E]: readonly [T: number, D: number, E: number],
  chosen: number,
) {
  return { ...clearRouting(seed, [T, D, E], chosen), residual: normal(seed + 4, [T, D]) };
}

/** Operands of random experts. The output is about as large as x. */
export function moeOperands(
  seed: number,
  [T, D, E, F]: readonly [T: number, D: number, E: number, F: number],
  chosen: number,
) {
  const matrices = (offset: number, N: number, K: number) =>
    normal(seed + offset, [E, N, K], 1 / Math.sqrt(K));
  return {
    ...moeInputs(seed, [T, D, E], chosen),
    gate: matrices(1, F, D),
    up: matrices(2, F, D),
    down: matrices(3, D, F),
  };
}

const sample = (
  name: string,
  seed: number,
  sizes: readonly [T: number, D: number, E: number, F: number],
  chosen: number,
  renormalise: number,
) => ({ name, operands: moeOperands(seed, sizes, chosen), attributes: { chosen, renormalise } });

export const moe = defineOp({
  name: 'moe',
  doc: 'A mixture of experts: residual + Σ over the `chosen` experts e with the largest p_e of p_e · down_e(swiglu(gate_e(x), up_e(x))), p = softmax(x · routerᵀ), with renormalise = 1 divided by the sum of the chosen p_e: x [T, D], router [E, D], gate and up [E, F, D], down [E, D, F], residual [T, D] → [T, D]. Ties go to the lowest expert. Recorded through the capability moeFused.',
  source:
    'Shazeer et al. 2017, Outrageously Large Neural Networks, eq. 1; Jiang et al. 2024, Mixtral of Experts, §2.1',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    router: { kind: 'weight' },
    gate: { kind: 'weight' },
    up: { kind: 'weight' },
    down: { kind: 'weight' },
    residual: { kind: 'tensor', dtypes: ['f32'] },
  },
  attributes: { chosen: 'i32', renormalise: 'i32' },
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, router, gate, up, down, residual }, { chosen, renormalise }) {
    const [, E] = inferLinear('moe', x, router, undefined, { weight: 'router', bias: '' }).shape;
    const D = x.shape[1]!;
    needRank('moe', 'gate', gate, 3, '[E, F, D]');
    const F = gate.shape[1]!;
    needShape('moe', 'gate', gate.shape, [E, F, D], 'router is [E, D]');
    needShape('moe', 'up', up.shape, [E, F, D], 'as gate');
    needShape('moe', 'down', down.shape, [E, D, F], 'gate is [E, F, D]');
    needShape('moe', 'residual', residual.shape, x.shape, 'as x');
    if (!Number.isInteger(chosen) || chosen < 1 || chosen > E)
      throw badArgument(
        'moe',
        `chosen must be a whole number from 1 to ${E} (experts of router); got ${chosen}`,
      );
    if (renormalise !== 0 && renormalise !== 1)
      throw badArgument('moe', `renormalise must be 0 or 1; got ${renormalise}`);
    return [{ shape: x.shape, dtype: 'f32' }];
  },
  define: (operands, routing, [y]) => defineMoe(operands, routing, y!),
  magnitude: (operands, routing, [y]) => moeMagnitude(operands, routing, y!),
  rounding: (operands, routing, [y]) => moeRounding(operands, routing, y!),
  tolerance: linearTolerance,
  samples: () => {
    const f16 = moeOperands(60, [5, 32, 6, 32], 2);
    return [
      sample('one row', 10, [1, 64, 16, 32], 4, 1),
      sample('one row, not renormalised', 20, [1, 64, 16, 32], 4, 0),
      sample('odd sizes', 30, [7, 33, 5, 19], 3, 1),
      sample('many rows', 40, [90, 32, 8, 24], 2, 0),
      sample('all experts', 50, [3, 16, 4, 8], 4, 1),
      sample('no rows', 70, [0, 16, 4, 8], 2, 1),
      {
        name: 'experts in f16',
        operands: { ...f16, gate: as('f16', f16.gate), up: as('f16', f16.up), down: as('f16', f16.down) },
        attributes: { chosen: 2, renormalise: 1 },
      },
    ];
  },
  errors: () => {
    const operands = moeOperands(80, [2, 16, 4, 8], 2);
    const wrong = (
      name: string,
      changes: Readonly<Record<string, SampleOperand>>,
      attributes = { chosen: 2, renormalise: 1 },
      code: 'BAD_SHAPE' | 'BAD_ARGUMENT' = 'BAD_SHAPE',
    ) => ({ name, operands: { ...operands, ...changes }, attributes, code, when: 'record' as const });
    return [
      wrong('a router of more experts', { router: normal(81, [5, 16]) }),
      wrong('down not transposed', { down: normal(82, [4, 8, 16]) }),
      wrong('more experts chosen than exist', {}, { chosen: 5, renormalise: 1 }, 'BAD_ARGUMENT'),
      wrong('a residual with another number of rows', { residual: normal(83, [3, 16]) }),
    ];
  },
});
