import { badShape, lastDim, needSameDtype, needShape, tensorDtype } from '../op/check.js';
import type { Op, OperandSpec } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { floats, normal, zeros } from '../testing/samples.js';

const f32 = { kind: 'tensor', dtypes: ['f32'] } as const;

/** b has a's shape, or is one row [D] for all rows of a. */
function needBroadcastable(op: string, a: OperandSpec, b: OperandSpec): void {
  needSameDtype(op, a, b);
  if (b.shape.length === 1 && b.shape[0] === lastDim(a.shape)) return;
  if (b.shape.length !== a.shape.length || b.shape.some((d, i) => d !== a.shape[i]))
    throw badShape(op, `b must have shape [${a.shape}] (as a) or [${lastDim(a.shape)}]; got [${b.shape}]`);
}

/** Shared body of add and mul. */
export const binaryOp = (name: string, doc: string, combine: (a: number, b: number) => number) =>
  ({
    name,
    doc,
    operands: { a: f32, b: f32 },
    attributes: {},
    outputs: ['y'],
    accumulation: 'none',
    infer({ a, b }) {
      needBroadcastable(name, a, b);
      return [{ shape: a.shape, dtype: tensorDtype(a) }];
    },
    define({ a, b }, _attributes, [y]) {
      const period = b.data.length;
      for (let i = 0; i < a.data.length; i++) y!.data[i] = combine(a.data[i]!, b.data[i % period]!);
    },
    tolerance: { f32: { absolute: 0, relative: 1e-7 } },
    samples: () => [
      { name: 'same shape', operands: { a: normal(1, [3, 17]), b: normal(2, [3, 17]) }, attributes: {} },
      { name: 'one row for all', operands: { a: normal(3, [4, 33]), b: normal(4, [33]) }, attributes: {} },
      { name: 'rank 3', operands: { a: normal(5, [2, 3, 5]), b: normal(6, [2, 3, 5]) }, attributes: {} },
      { name: 'empty', operands: { a: zeros([0, 8]), b: zeros([0, 8]) }, attributes: {} },
      {
        name: 'not finite',
        operands: {
          a: floats([Infinity, Number.NaN, 1, -Infinity], [1, 4]),
          b: floats([1, 1, Number.NaN, 2], [1, 4]),
        },
        attributes: {},
      },
    ],
    errors: () => [
      {
        name: 'shapes differ',
        operands: { a: normal(7, [3, 4]), b: normal(8, [4, 3]) },
        attributes: {},
        code: 'BAD_SHAPE',
        when: 'record',
      },
    ],
  }) satisfies Op<{ a: typeof f32; b: typeof f32 }, Record<never, never>>;

/** Shared body of swiglu and geglu: activation(gate) · up. */
export const gatedOp = (name: string, doc: string, source: string, activation: (x: number) => number) =>
  ({
    name,
    doc,
    source,
    operands: { gate: f32, up: f32 },
    attributes: {},
    outputs: ['y'],
    accumulation: 'none',
    infer({ gate, up }) {
      needShape(name, 'up', up.shape, gate.shape, 'as gate');
      return [{ shape: gate.shape, dtype: tensorDtype(gate) }];
    },
    define({ gate, up }, _attributes, [y]) {
      for (let i = 0; i < gate.data.length; i++) y!.data[i] = activation(gate.data[i]!) * up.data[i]!;
    },
    tolerance: { f32: { absolute: 1e-6, relative: 2e-6 } },
    samples: () => [
      { name: 'one row', operands: { gate: normal(1, [1, 40], 3), up: normal(2, [1, 40]) }, attributes: {} },
      {
        name: 'odd sizes',
        operands: { gate: normal(3, [5, 37], 3), up: normal(4, [5, 37]) },
        attributes: {},
      },
      { name: 'empty', operands: { gate: zeros([0, 4]), up: zeros([0, 4]) }, attributes: {} },
      {
        name: 'far from zero',
        operands: {
          gate: floats([-200, -90, -30, 30, 90, 200], [1, 6]),
          up: floats([1, 1, 1, 1, 1, 1], [1, 6]),
        },
        attributes: {},
      },
      {
        name: 'not a number',
        operands: { gate: floats([Number.NaN, 1], [1, 2]), up: floats([1, Number.NaN], [1, 2]) },
        attributes: {},
      },
    ],
    errors: () => [
      {
        name: 'shapes differ',
        operands: { gate: normal(5, [3, 4]), up: normal(6, [3, 5]) },
        attributes: {},
        code: 'BAD_SHAPE',
        when: 'record',
      },
    ],
  }) satisfies Op<{ gate: typeof f32; up: typeof f32 }, Record<never, never>>;

/** y = activation(x), element by element. */
export function map(x: Numbers, y: Numbers, activation: (x: number) => number): void {
  for (let i = 0; i < x.data.length; i++) y.data[i] = activation(x.data[i]!);
}
