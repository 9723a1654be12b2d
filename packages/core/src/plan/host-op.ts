import { elementCount, hostArray } from '../dtype.js';
import type { Numbers } from '../op/numbers.js';
import type { PlanOp, Storage, TensorOperand } from './plan.js';

/** The bytes of a storage in host memory. */
export type BytesOf = (storage: Storage) => Uint8Array;

/** The elements in place: the host computes only ops of f32 and i32 tensors. */
function numbersOf({ shape, dtype, storage, byteOffset }: TensorOperand, bytesOf: BytesOf): Numbers {
  const bytes = bytesOf(storage);
  const at = bytes.byteOffset + byteOffset;
  return {
    shape,
    data: hostArray(dtype, bytes.buffer, at, elementCount(shape)) as Float32Array | Int32Array,
  };
}

/** Computes an op by its definition. Throws OUT_OF_RANGE. */
export function runOnHost({ op, operands, attributes, outputs }: PlanOp, bytesOf: BytesOf): void {
  const named = Object.keys(op.operands).flatMap((name, i) => {
    const operand = operands[i];
    return operand?.kind === 'tensor' ? [[name, numbersOf(operand, bytesOf)]] : [];
  });
  const numbers = Object.keys(op.attributes).map((name, i) => [name, attributes[i]!]);
  op.define(
    Object.fromEntries(named),
    Object.fromEntries(numbers),
    outputs.map((output) => numbersOf(output, bytesOf)),
  );
}
