import type { DriverBuffer, DriverWeight } from '../driver-memory.js';
import type { DType } from '../dtype.js';
import type { AnyOp } from '../op/define-op.js';
import type { WeightFormat } from '../weight.js';

/** Memory behind one or more tensors of a step. A view shares the storage of its tensor. */
export interface Storage {
  readonly id: number;
  readonly byteLength: number;
  /** The caller fills inputs before each run; an op of the plan makes every other storage. */
  readonly isInput: boolean;
  /** Kept storages outlive the run, for reading. */
  kept: boolean;
}

/** Place of a tensor. */
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

/** One op of a plan. Operands in op-table order; an absent optional operand is undefined. */
export interface PlanOp {
  readonly op: AnyOp;
  readonly operands: readonly (PlanOperand | undefined)[];
  readonly attributes: readonly number[];
  readonly outputs: readonly TensorOperand[];
}

/** The record of a step: ops in order, and all their storages. */
export interface Plan {
  readonly ops: readonly PlanOp[];
  readonly storages: readonly Storage[];
}
