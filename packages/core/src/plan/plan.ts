import type { DriverBuffer, DriverWeight } from '../driver-memory.js';
import type { DType } from '../dtype.js';
import type { AnyOp } from '../op/define-op.js';
import type { WeightFormat } from '../weight.js';

/** Memory behind one or more tensors of a step: a view shares the storage of what it views. */
export interface Storage {
  readonly id: number;
  readonly byteLength: number;
  /** Inputs are filled by the caller before each run; the others by an op of the plan. */
  readonly isInput: boolean;
  /** Kept storages outlive the run, so that they can be read. */
  kept: boolean;
}

/** Where a tensor lies. */
export interface TensorOperand {
  readonly kind: 'tensor';
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly storage: Storage;
  readonly byteOffset: number;
}

export interface WeightOperand {
  readonly kind: 'weight';
  readonly name: string;
  readonly shape: readonly number[];
  readonly format: WeightFormat;
  readonly handle: DriverWeight;
}

export interface BufferOperand {
  readonly kind: 'buffer';
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly handle: DriverBuffer;
}

export type PlanOperand = TensorOperand | WeightOperand | BufferOperand;

/** One op of a plan. Operands stand in the order of the op's table entry; an absent optional one is undefined. */
export interface PlanOp {
  readonly op: AnyOp;
  readonly operands: readonly (PlanOperand | undefined)[];
  readonly attributes: readonly number[];
  readonly outputs: readonly TensorOperand[];
}

/** What a step recorded: ops in order, and every storage they touch. */
export interface Plan {
  readonly ops: readonly PlanOp[];
  readonly storages: readonly Storage[];
}
