import type { DType } from '../dtype.js';
import { showShape } from '../dtype.js';
import { BackendError } from '../error.js';
import type { OperandSpec } from './define-op.js';

export const badShape = (op: string, message: string) => new BackendError('BAD_SHAPE', `[${op}] ${message}`);

export const badArgument = (op: string, message: string) =>
  new BackendError('BAD_ARGUMENT', `[${op}] ${message}`);

export const outOfRange = (op: string, message: string) =>
  new BackendError('OUT_OF_RANGE', `[${op}] ${message}`);

/** Throws BAD_SHAPE unless `operand` has exactly `rank` dimensions. */
export function needRank(
  op: string,
  name: string,
  operand: OperandSpec,
  rank: number,
  letters: string,
): void {
  if (operand.shape.length !== rank)
    throw badShape(op, `${name} must have shape ${letters}; got ${showShape(operand.shape)}`);
}

/** Throws BAD_SHAPE unless the shapes are equal. `why` names the source of the wanted shape. */
export function needShape(
  op: string,
  name: string,
  got: readonly number[],
  want: readonly number[],
  why: string,
): void {
  if (got.length !== want.length || got.some((d, i) => d !== want[i]))
    throw badShape(op, `${name} must have shape ${showShape(want)} (${why}); got ${showShape(got)}`);
}

/** Throws BAD_DTYPE unless both operands share an element type. */
export function needSameDtype(op: string, a: OperandSpec, b: OperandSpec): void {
  if (a.dtype !== b.dtype)
    throw new BackendError('BAD_DTYPE', `[${op}] operands must share a dtype; got ${a.dtype} and ${b.dtype}`);
}

/** The dtype of a tensor operand, for shape rules that pass it on. */
export const tensorDtype = (operand: OperandSpec): DType => operand.dtype as DType;

export const lastDim = (shape: readonly number[]): number => shape[shape.length - 1] ?? 1;

/** Product of all dimensions but the last. */
export const rowCount = (shape: readonly number[]): number => shape.slice(0, -1).reduce((n, d) => n * d, 1);
