import { BackendError } from './error.js';
import type { AnyOp } from './op/define-op.js';
import { view } from './op/views.js';
import { Recorder } from './recorder.js';
import type { Step } from './step.js';
import type { OperandValue } from './step-tensor.js';
import type { Tensor } from './tensor.js';

/**
 * Records an op by its entry in the op table, operands and attributes by name: for conformance tests and benchmarks.
 * Models use the calls of `Ops`. Both record the same and throw the same.
 */
export function recordOp(
  step: Step,
  op: AnyOp,
  operands: Readonly<Record<string, OperandValue>>,
  attributes: Readonly<Record<string, number>> = {},
): readonly Tensor[] {
  if (!(step instanceof Recorder))
    throw new BackendError('BAD_ARGUMENT', `[${op.name}] the step was not opened by a backend`);
  return step.record(op, operands, attributes);
}

/** `Ops.view`, for the same purpose. */
export const recordView: typeof view = view;
