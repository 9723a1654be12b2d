import {
  type AnyOp,
  bf16ToF32,
  elementCount,
  elements,
  f16ToF32,
  f32ToBf16,
  f32ToF16,
  type Kernel,
  type KernelMemory,
  type KernelWeight,
} from '@quern/core';
import { floats } from './operands.js';

const widen: Readonly<Record<string, (bits: number) => number>> = { f16: f16ToF32, bf16: bf16ToF32 };
const narrow: Readonly<Record<string, (value: number) => number>> = { f16: f32ToF16, bf16: f32ToBf16 };

function numbersOf(operand: KernelMemory | KernelWeight): Float64Array {
  if (operand.kind === 'weight') return Float64Array.from(floats(operand));
  return Float64Array.from(elements(operand), widen[operand.dtype] ?? Number);
}

function store(data: ArrayLike<number>, target: KernelMemory): void {
  elements(target).set(Array.from(data, narrow[target.dtype] ?? Number));
}

/** A kernel that runs an op's definition: correct, slow. */
export const fromDefinition =
  (op: AnyOp): Kernel =>
  (operands, attributes, outputs) => {
    const named = Object.entries(operands).map(
      ([name, operand]) => [name, { shape: operand.shape, data: numbersOf(operand) }] as const,
    );
    const results = outputs.map(({ shape }) => ({ shape, data: new Float64Array(elementCount(shape)) }));
    op.define(Object.fromEntries(named), attributes, results);
    for (const [i, output] of outputs.entries()) store(results[i]!.data, output);
    for (const [name, { data }] of named)
      if (op.operands[name]!.written) store(data, operands[name] as KernelMemory); // a cache, or states
  };
