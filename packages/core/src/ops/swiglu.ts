import { defineOp } from '../op/define-op.js';
import { gatedOp } from './elementwise.js';
import { siluOf } from './silu.js';

export const swiglu = defineOp(
  gatedOp(
    'swiglu',
    'silu(gate) · up, element by element.',
    'Shazeer 2020, GLU Variants Improve Transformer',
    siluOf,
  ),
);
