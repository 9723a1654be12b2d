import { defineOp } from '../op/define-op.js';
import { gatedOp } from './elementwise.js';
import { geluTanh } from './gelu.js';

export const geglu = defineOp(
  gatedOp(
    'geglu',
    'gelu(gate) · up with the tanh form, element by element.',
    'Shazeer 2020, GLU Variants Improve Transformer',
    geluTanh,
  ),
);
