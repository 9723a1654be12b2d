import { defineOp } from '../op/define-op.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { binaryOp } from './elementwise.js';

export const mul = defineOp(
  binaryOp('mul', "a · b; b has a's shape or is one row [D] that multiplies every row.", (a, b) => a * b),
);

/** a · b; b has a's shape or is one row [D]. */
export function call(a: Tensor, b: Tensor): Tensor {
  return record(a, mul, { a, b });
}
