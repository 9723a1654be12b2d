import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { gatedOp } from './elementwise.js';
import { gelu, geluForms, geluTanh } from './gelu.js';
import { mul } from './mul.js';

export const geglu = defineOp(
  gatedOp(
    'geglu',
    'gelu(gate) · up with the tanh form, element by element.',
    'Shazeer 2020, GLU Variants Improve Transformer',
    geluTanh,
  ),
);

/** gelu(gate) · up, tanh form. */
export function call(gate: Tensor, up: Tensor): Tensor {
  return record(gate, geglu, { gate, up });
}

export const fill = (({ gate, up }, _attributes, emit) => {
  const [activated] = emit(gelu, { x: gate! }, { form: geluForms.tanh });
  emit(mul, { a: activated!, b: up! });
}) satisfies Fill;
