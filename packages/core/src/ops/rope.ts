import { badArgument, badShape, needRank } from '../op/check.js';
import type { OperandSpec } from '../op/define-op.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import { type RopeLayout, type RopeOptions, ropeLayouts } from '../rope-frequencies.js';
import type { Tensor } from '../tensor.js';
import { normal, zeros } from '../testing/samples.js';
import { ropeTableOf } from './rope-table.js';

/** Checks x [T, H, d] against a table [T, R] with R ≤ d. */
export function needRopeTable(
  op: string,
  name: string,
  x: OperandSpec,
  table: OperandSpec,
  layout: number,
): void {
  needRank(op, name, x, 3, '[T, H, d]');
  needRank(op, 'table', table, 2, '[T, R]');
  const [T, R] = table.shape as [number, number];
  if (T !== x.shape[0])
    throw badShape(
      op,
      `table must have ${x.shape[0]} rows (T of ${name} [${x.shape}]); got [${table.shape}]`,
    );
  if (R > x.shape[2]!)
    throw badShape(op, `table rotates ${R} elements, but heads of ${name} have ${x.shape[2]}`);
  if (layout !== 0 && layout !== 1)
    throw badArgument(op, `layout must be 0 (interleaved) or 1 (halves); got ${layout}`);
}

/** Rotates the first R elements of every head; the others pass unchanged. */
export function defineRope(x: Numbers, table: Numbers, layout: number, y: Numbers): void {
  const [T, H, d] = x.shape as [number, number, number];
  const R = table.shape[1]!;
  const half = R / 2;
  const stride = layout === ropeLayouts.interleaved ? 1 : half;
  for (let t = 0; t < T; t++)
    for (let h = 0; h < H; h++) {
      const head = (t * H + h) * d;
      for (let i = R; i < d; i++) y.data[head + i] = x.data[head + i]!;
      for (let i = 0; i < half; i++) {
        const first = head + (layout === ropeLayouts.interleaved ? 2 * i : i);
        const [a, b] = [x.data[first]!, x.data[first + stride]!];
        const [cos, sin] = [table.data[t * R + i]!, table.data[t * R + half + i]!];
        y.data[first] = a * cos - b * sin;
        y.data[first + stride] = a * sin + b * cos;
      }
    }
}

const sample = (name: string, T: number, H: number, d: number, R: number, layout: RopeLayout) => ({
  name,
  operands: { x: normal(T + H, [T, H, d]), table: normal(R, [T, R]) },
  attributes: { layout: ropeLayouts[layout] },
});

export const rope = defineOp({
  name: 'rope',
  doc: 'Rotates pairs of elements of each head by a table of ropeTable: [T, H, d], [T, R] → [T, H, d]; with R < d the other elements stay unchanged. Pairs by `layout`: 0 interleaved (2i, 2i + 1), 1 halves (i, i + R/2).',
  source: 'Su et al. 2021, RoFormer, eq. 34',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, table: { kind: 'tensor', dtypes: ['f32'] } },
  attributes: { layout: 'i32' },
  outputs: ['y'],
  accumulation: 'none',
  infer({ x, table }, { layout }) {
    needRopeTable('rope', 'x', x, table, layout);
    return [{ shape: x.shape, dtype: 'f32' }];
  },
  define: ({ x, table }, { layout }, [y]) => defineRope(x, table, layout, y!),
  tolerance: { f32: { absolute: 1e-6, relative: 2e-6 } },
  samples: () => [
    sample('interleaved', 3, 4, 16, 16, 'interleaved'),
    sample('halves', 3, 4, 16, 16, 'halves'),
    sample('part of a head, interleaved', 2, 3, 20, 12, 'interleaved'),
    sample('part of a head, halves', 2, 3, 20, 12, 'halves'),
    sample('one head', 1, 1, 2, 2, 'halves'),
    { name: 'empty', operands: { x: zeros([0, 2, 8]), table: zeros([0, 8]) }, attributes: { layout: 1 } },
  ],
  errors: () => [
    {
      name: 'table of other rows',
      operands: { x: normal(1, [3, 2, 8]), table: normal(2, [2, 8]) },
      attributes: { layout: 0 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'table wider than a head',
      operands: { x: normal(1, [3, 2, 8]), table: normal(2, [3, 10]) },
      attributes: { layout: 0 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'unknown layout',
      operands: { x: normal(1, [3, 2, 8]), table: normal(2, [3, 8]) },
      attributes: { layout: 7 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});

/** Rotary position embedding of x [T, H, d] at `positions` [T]. The table of angles is made once per step. */
export function call(x: Tensor, positions: Tensor, options: RopeOptions): Tensor {
  const table = ropeTableOf(positions, options, x.shape[2] ?? 0);
  return record(x, rope, { x, table }, { layout: ropeLayouts[options.layout] });
}
