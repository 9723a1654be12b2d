import type { PlanOperand, TensorOperand } from '../plan/plan.js';
import type { AnyOp } from './define-op.js';

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

/**
 * How core computes an op that a driver lacks. 'host': its definition in JavaScript, between two parts of the plan. The
 * host cannot compute ops with weights or caches: their memory is the device's. 'refuse': not at all; a model that needs
 * the op is refused by name.
 */
export type Fill = 'host' | 'refuse' | Decomposition;
