import { elementCount, showShape } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import { badShape } from './check.js';
import { stepOf } from './record.js';

function alias(op: string, x: Tensor, shape: readonly number[], elementOffset: number): Tensor {
  const step = stepOf(op, x);
  return step.alias(step.own(op, 'x', x), shape, elementOffset);
}

/** The same elements in another shape. Costs nothing. */
export function view(x: Tensor, shape: readonly number[]): Tensor {
  if (elementCount(shape) !== elementCount(x.shape))
    throw badShape('view', `${showShape(x.shape)} cannot be seen as ${showShape(shape)}: the counts differ`);
  return alias('view', x, shape, 0);
}

/** Rows [from, to) of the first dimension. Costs nothing. */
export function slice(x: Tensor, from: number, to: number): Tensor {
  const rows = x.shape[0] ?? 0;
  if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= rows))
    throw badShape('slice', `rows ${from} to ${to} do not lie within ${showShape(x.shape)}`);
  const row = elementCount(x.shape.slice(1));
  return alias('slice', x, [to - from, ...x.shape.slice(1)], from * row);
}
