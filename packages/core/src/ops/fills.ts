import type { AnyOp } from '../op/define-op.js';
import type { PlanOperand, TensorOperand } from '../plan/plan.js';
import { gelu, geluForms } from './gelu.js';
import type { CoreOpName } from './index.js';
import { mul } from './mul.js';
import { silu } from './silu.js';

/** Puts an op into the plan, and gives its outputs. Attributes are 0 where they are left out. */
export type Emit = (
  op: AnyOp,
  operands: Readonly<Record<string, PlanOperand>>,
  attributes?: Readonly<Record<string, number>>,
) => readonly TensorOperand[];

/** An op as older ops: the outputs of the last one are those of the op. */
export type Decomposition = (
  operands: Readonly<Record<string, PlanOperand>>,
  attributes: Readonly<Record<string, number>>,
  emit: Emit,
) => void;

/** 'host': core computes the definition in JavaScript, between two parts of the plan. */
export type Fill = 'host' | Decomposition;

const only = ([first]: readonly TensorOperand[]): TensorOperand => first!;

/**
 * The ops that a driver may leave out, and what core does then. An op that is added to the table has an entry here, so that drivers
 * made before it go on working. Ops with weights or caches cannot be the host's: their memory is the device's.
 */
export const fills = {
  ropeTable: 'host',
  sample: 'host',
  penalise: 'host',
  maskLogits: 'host',
  swiglu: ({ gate, up }, _attributes, emit) => emit(mul, { a: only(emit(silu, { x: gate! })), b: up! }),
  geglu: ({ gate, up }, _attributes, emit) =>
    emit(mul, { a: only(emit(gelu, { x: gate! }, { form: geluForms.tanh })), b: up! }),
} as const satisfies Partial<Record<CoreOpName, Fill>>;

export type OptionalOpName = keyof typeof fills;
export type RequiredOpName = Exclude<CoreOpName, OptionalOpName>;
