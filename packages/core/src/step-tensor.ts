import type { DType } from './dtype.js';
import type { KvBuffer } from './kv/kv-buffer.js';
import type { AnyOp } from './op/define-op.js';
import type { Storage, TensorOperand } from './plan/plan.js';
import type { InputArray } from './step.js';
import type { Tensor } from './tensor.js';
import type { Weight } from './weight.js';

export type OperandValue = Tensor | Weight | KvBuffer | undefined;

/** What op calls use of the step of a tensor. */
export interface RecordingStep {
  input(values: InputArray): StepTensor;
  /** Records one op. Operands and attributes by name, in any order. A missing attribute is 0, an f32 is rounded to 32 bits. */
  record(
    op: AnyOp,
    values: Readonly<Record<string, OperandValue>>,
    attributes?: Readonly<Record<string, number>>,
  ): StepTensor[];
  /** The tensor that `make` records, once per key and step. */
  once(key: string, make: () => StepTensor): StepTensor;
  /** The same storage with another shape, from an element offset. */
  alias(tensor: StepTensor, shape: readonly number[], elementOffset: number): StepTensor;
  /** Checks that a tensor is this step's. */
  own(op: string, name: string, value: Tensor): StepTensor;
}

/** A tensor and its place. */
export class StepTensor implements Tensor, TensorOperand {
  readonly kind = 'tensor';

  constructor(
    readonly step: RecordingStep,
    readonly shape: readonly number[],
    readonly dtype: DType,
    readonly storage: Storage,
    readonly byteOffset: number,
  ) {}
}
