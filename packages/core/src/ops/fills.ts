import type { AnyOp } from '../op/define-op.js';
import type { PlanOperand, TensorOperand } from '../plan/plan.js';
import { gelu, geluForms } from './gelu.js';
import type { CoreOpName } from './index.js';
import { mul } from './mul.js';
import { silu } from './silu.js';

/** Adds an op to the plan and returns its outputs. A missing attribute is 0. */
export type Emit = (
  op: AnyOp,
  operands: Readonly<Record<string, PlanOperand>>,
  attributes?: Readonly<Record<string, number>>,
) => readonly TensorOperand[];

/** An op as a sequence of older ops: the last outputs are the outputs of the op. */
export type Decomposition = (
  operands: Readonly<Record<string, PlanOperand>>,
  attributes: Readonly<Record<string, number>>,
  emit: Emit,
) => void;

/** 'host': core computes the definition in JavaScript, between two parts of the plan. */
export type Fill = 'host' | Decomposition;

const only = ([first]: readonly TensorOperand[]): TensorOperand => first!;

/**
 * Optional ops of a driver, and how core fills each. Every op added to the table needs an entry here: drivers made
 * before it then continue to work. The host cannot compute ops with weights or caches: their memory is the device's.
 */
export const fills = {
  ropeTable: 'host',
  sample: 'host',
  penalise: 'host',
  logProbs: 'host',
  maskLogits: 'host',
  swiglu: ({ gate, up }, _attributes, emit) => emit(mul, { a: only(emit(silu, { x: gate! })), b: up! }),
  geglu: ({ gate, up }, _attributes, emit) =>
    emit(mul, { a: only(emit(gelu, { x: gate! }, { form: geluForms.tanh })), b: up! }),
} as const satisfies Partial<Record<CoreOpName, Fill>>;

export type OptionalOpName = keyof typeof fills;
export type RequiredOpName = Exclude<CoreOpName, OptionalOpName>;
