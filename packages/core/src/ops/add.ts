import { defineOp } from '../op/define-op.js';
import { binaryOp } from './elementwise.js';

export const add = defineOp(
  binaryOp('add', "a + b; b has a's shape or is one row [D] added to every row.", (a, b) => a + b),
);
