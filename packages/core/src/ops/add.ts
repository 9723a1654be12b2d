import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { binaryOp } from './elementwise.js';

export const add = defineOp(
  binaryOp('add', "a + b; b has a's shape or is one row [D] added to every row.", (a, b) => a + b),
);

/** a + b; b has a's shape or is one row [D]. */
export function call(a: Tensor, b: Tensor): Tensor {
  return record(a, add, { a, b });
}
