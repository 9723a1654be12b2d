import { BackendError } from '../error.js';
import { type OperandValue, type RecordingStep, StepTensor } from '../step-tensor.js';
import type { Tensor } from '../tensor.js';
import type { AnyOp } from './define-op.js';

/** The step of a tensor. */
export function stepOf(op: string, tensor: Tensor): RecordingStep {
  if (tensor instanceof StepTensor) return tensor.step;
  throw new BackendError('BAD_ARGUMENT', `[${op}] the first operand is not a tensor of a step`);
}

/** Records an op in the step of `tensor`, an operand of it. → its first output */
export function record(
  tensor: Tensor,
  op: AnyOp,
  operands: Readonly<Record<string, OperandValue>>,
  attributes?: Readonly<Record<string, number>>,
): Tensor {
  return stepOf(op.name, tensor).record(op, operands, attributes)[0]!;
}
