import { defineOp } from '../op/define-op.js';
import { binaryOp } from './elementwise.js';

export const mul = defineOp(
  binaryOp('mul', "a · b; b has a's shape or is one row [D] that multiplies every row.", (a, b) => a * b),
);
