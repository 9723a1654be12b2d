import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { gatedOp } from './elementwise.js';
import { mul } from './mul.js';
import { silu, siluOf } from './silu.js';

export const swiglu = defineOp(
  gatedOp(
    'swiglu',
    'silu(gate) · up, element by element.',
    'Shazeer 2020, GLU Variants Improve Transformer',
    siluOf,
  ),
);

/** silu(gate) · up. */
export function call(gate: Tensor, up: Tensor): Tensor {
  return record(gate, swiglu, { gate, up });
}

export const fill = (({ gate, up }, _attributes, emit) => {
  const [activated] = emit(silu, { x: gate! });
  emit(mul, { a: activated!, b: up! });
}) satisfies Fill;
