import { badArgument, badShape, lastDim, needRank, needShape, rowCount } from '../op/check.js';
import type { Attributes, OperandSpec } from '../op/define-op.js';
import { defineOp } from '../op/define-op.js';
import { mapped, type Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { as, normal, type SampleOperand } from '../testing/samples.js';
import type { Weight } from '../weight.js';

/** The shape rule of x · wᵀ, shared with the fused projections. */
export function inferLinear(
  op: string,
  x: OperandSpec,
  w: OperandSpec,
  bias: OperandSpec | undefined,
  names: { readonly weight: string; readonly bias: string } = { weight: 'w', bias: 'bias' },
) {
  needRank(op, 'x', x, 2, '[T, K]');
  needRank(op, names.weight, w, 2, '[N, K]');
  const [N, K] = w.shape as [number, number];
  if (K !== lastDim(x.shape))
    throw badShape(
      op,
      `${names.weight} must have shape [N, ${lastDim(x.shape)}] (x is [T, K]); got [${N}, ${K}]`,
    );
  if (bias) needShape(op, names.bias, bias.shape, [N], `${names.weight} is [N, K]`);
  return { shape: [x.shape[0]!, N], dtype: 'f32' } as const;
}

/** y = x · wᵀ + bias, summed in double precision. */
export function defineLinear(x: Numbers, w: Numbers, bias: Numbers | undefined, y: Numbers): void {
  const [N, K] = w.shape as [number, number];
  const rows = rowCount(x.shape);
  for (let t = 0; t < rows; t++)
    for (let n = 0; n < N; n++) {
      let sum = bias ? bias.data[n]! : 0;
      for (let k = 0; k < K; k++) sum += x.data[t * K + k]! * w.data[n * K + k]!;
      y.data[t * N + n] = sum;
    }
}

const absolute = (n: Numbers): Numbers => ({ shape: n.shape, data: mapped(n.data, Math.abs) });

/** Σ|x·w| + |bias|: the unit of rounding errors of a product. */
export function linearMagnitude(x: Numbers, w: Numbers, bias: Numbers | undefined, y: Numbers): void {
  defineLinear(absolute(x), absolute(w), bias && absolute(bias), y);
}

/** 1: the bits of a result row do not depend on the other rows or on their number. 0: the backend decides. */
export const batchInvariantRule = { batchInvariant: 'i32' } as const;
type BatchInvariant = Attributes<typeof batchInvariantRule>;

/** For the docs of ops with this attribute. */
export const batchInvariantDoc =
  'With batchInvariant = 1 the bits of a result row do not depend on the other rows or on their number; rounding may be as coarse as with many rows.';

/** Throws BAD_ARGUMENT unless the attribute is 0, 1 or missing. */
export function needBatchInvariant(op: string, { batchInvariant = 0 }: Partial<BatchInvariant>): void {
  if (batchInvariant !== 0 && batchInvariant !== 1)
    throw badArgument(op, `batchInvariant must be 0 or 1; got ${batchInvariant}`);
}

/** Maximum activations along K with one shared scale when rounded to 8 bits. */
export const ACTIVATION_SPAN = 64;
/**
 * From SUPERBLOCK_ROWS rows of x, or with batchInvariant, a kernel may round coarsely: activations and weights to 8
 * bits, one scale per SUPERBLOCK_SPAN along K.
 */
const SUPERBLOCK_ROWS = 17;
const SUPERBLOCK_SPAN = 256;
export const roundsBySuperblock = (
  x: Numbers,
  { batchInvariant }: BatchInvariant = { batchInvariant: 0 },
): boolean => batchInvariant === 1 || rowCount(x.shape) >= SUPERBLOCK_ROWS;
/**
 * Maximum rounding of a weight, in units of the largest magnitude of its span: a little more than half a step of 127.
 */
const WEIGHT_ROUNDING = 0.57 / 127;

/** Each value replaced by the largest magnitude of its span along K. */
function spanMaxima({ shape, data }: Numbers, span: number): Numbers {
  const K = lastDim(shape);
  const largest = new Float64Array(data.length);
  for (let row = 0; row < data.length; row += K)
    for (let k = 0; k < K; k += span) {
      const end = Math.min(K, k + span);
      let max = 0;
      for (let i = k; i < end; i++) max = Math.max(max, Math.abs(data[row + i]!));
      largest.fill(max, row + k, row + end);
    }
  return { shape, data: largest };
}

const scaled = ({ shape, data }: Numbers, factor: number): Numbers => ({
  shape,
  data: data.map((value) => value * factor),
});
const added = (a: Numbers, b: Numbers): Numbers => ({
  shape: a.shape,
  data: a.data.map((value, i) => value + b.data[i]!),
});

/**
 * Maximum change from rounding x (with many rows also w) to 8 bits: Σ|w| · dx + (|x| + dx) · dw. dx: half a step of 127
 * to the largest |x| of a span. dw: WEIGHT_ROUNDING.
 */
export function linearRounding(x: Numbers, w: Numbers, y: Numbers, superblock = roundsBySuperblock(x)): void {
  const dx = scaled(spanMaxima(x, superblock ? SUPERBLOCK_SPAN : ACTIVATION_SPAN), 0.5 / 127);
  defineLinear(dx, absolute(w), undefined, y);
  if (!superblock) return;
  const more: Numbers = { shape: y.shape, data: new Float64Array(y.data.length) };
  defineLinear(
    added(absolute(x), dx),
    scaled(spanMaxima(w, SUPERBLOCK_SPAN), WEIGHT_ROUNDING),
    undefined,
    more,
  );
  y.data.set(added(y, more).data);
}

/**
 * Rounding errors of a K-term float32 sum in blocked order. With 16-bit weights both factors may be rounded to bf16
 * (2^-8 each). With quantised weights the activations, and with many rows the weights, may be rounded to 8 bits: see
 * `rounding`.
 */
export const linearTolerance = {
  f32: { absolute: 1e-7, relative: 2e-6 },
  f16: { absolute: 1e-7, relative: 8e-3 },
  bf16: { absolute: 1e-7, relative: 8e-3 },
  quantised: { absolute: 1e-7, relative: 4e-6 },
};

const sample = (
  name: string,
  T: number,
  K: number,
  N: number,
  w: SampleOperand = normal(N + K, [N, K]),
  batchInvariant = 0,
) => ({
  name: `${name} [${T}, ${K}] · [${N}, ${K}]ᵀ`,
  operands: { x: normal(T + K, [T, K]), w },
  attributes: { batchInvariant },
});

export const linear = defineOp({
  name: 'linear',
  doc: `Matrix product: x [T, K] · w [N, K]ᵀ (+ bias [N]) → [T, N]. ${batchInvariantDoc}`,
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    w: { kind: 'weight' },
    bias: { kind: 'weight', optional: true },
  },
  attributes: batchInvariantRule,
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, w, bias }, attributes) {
    needBatchInvariant('linear', attributes);
    return [inferLinear('linear', x, w, bias)];
  },
  define: ({ x, w, bias }, _attributes, [y]) => defineLinear(x, w, bias, y!),
  magnitude: ({ x, w, bias }, _attributes, [y]) => linearMagnitude(x, w, bias, y!),
  rounding: ({ x, w }, attributes, [y]) => linearRounding(x, w, y!, roundsBySuperblock(x, attributes)),
  tolerance: linearTolerance,
  samples: () => [
    sample('one row', 1, 64, 32),
    sample('odd sizes', 3, 33, 7),
    sample('one element', 1, 1, 1),
    sample('no rows', 0, 16, 8),
    sample('many rows', 67, 96, 41),
    sample('long sum', 5, 1024, 19),
    sample('f16', 5, 63, 17, as('f16', normal(50, [17, 63]))),
    sample('bf16', 5, 63, 17, as('bf16', normal(51, [17, 63]))),
    sample('f16, many rows', 35, 300, 97, as('f16', normal(57, [97, 300]))),
    sample('bf16, many rows', 35, 300, 97, as('bf16', normal(58, [97, 300]))),
    sample('batch-invariant, f32', 2, 64, 24, normal(59, [24, 64]), 1),
    sample('batch-invariant, f16', 3, 300, 40, as('f16', normal(66, [40, 300])), 1),
    sample('batch-invariant, bf16', 1, 63, 17, as('bf16', normal(67, [17, 63])), 1),
    {
      name: 'bias',
      operands: { x: normal(52, [4, 48]), w: normal(53, [10, 48]), bias: normal(54, [10]) },
      attributes: { batchInvariant: 0 },
    },
    {
      name: 'infinity in one row stays there',
      operands: {
        x: {
          ...normal(55, [2, 16]),
          values: Float32Array.from({ length: 32 }, (_, i) => (i === 3 ? Infinity : 1)),
        },
        w: normal(56, [4, 16]),
      },
      attributes: { batchInvariant: 0 },
    },
  ],
  errors: () => [
    {
      name: 'K differs',
      operands: { x: normal(60, [2, 16]), w: normal(61, [4, 15]) },
      attributes: { batchInvariant: 0 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'bias of the wrong length',
      operands: { x: normal(62, [2, 16]), w: normal(63, [4, 16]), bias: normal(64, [16]) },
      attributes: { batchInvariant: 0 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'batchInvariant neither 0 nor 1',
      operands: { x: normal(68, [2, 16]), w: normal(69, [4, 16]) },
      attributes: { batchInvariant: 2 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
    {
      name: 'x of rank 3',
      operands: { x: normal(65, [2, 2, 16]), w: normal(66, [4, 16]) },
      attributes: { batchInvariant: 0 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

export interface LinearOptions {
  /** [N]. */
  readonly bias?: Weight | undefined;
  /**
   * true: the bits of a result row do not depend on the other rows or on their number. Default false: for T ≤
   * `profile.exactRows` each row has the same bits as alone; for more rows nothing is promised. Use true for values
   * that are compared across steps (embeddings). Leave false for logits: true allows the coarser rounding of large
   * steps.
   */
  readonly batchInvariant?: boolean | undefined;
}

/** x [T, K] · w [N, K]ᵀ (+ bias [N]) → [T, N]. */
export function call(x: Tensor, w: Weight, options: LinearOptions = {}): Tensor {
  const { bias, batchInvariant = false } = options;
  return record(x, linear, { x, w, bias }, { batchInvariant: batchInvariant ? 1 : 0 });
}
