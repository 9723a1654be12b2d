import {
  type AnyOp,
  bf16ToF32,
  elements,
  f16ToF32,
  f32ToBf16,
  f32ToF16,
  type HostArray,
  type Kernel,
  type KernelMemory,
  type KernelWeight,
  type Numbers,
} from '@quern/core';
import type { DenseWeight } from './weight.js';

const widen = { f16: f16ToF32, bf16: bf16ToF32 };
const narrow = { f16: f32ToF16, bf16: f32ToBf16 };

/** A loop: `Float64Array.from` takes six times as long, and this copies whole caches. */
function widened(bits: HostArray, widenOne: (bits: number) => number): Float64Array {
  const wide = new Float64Array(bits.length);
  for (let i = 0; i < bits.length; i++) wide[i] = widenOne(bits[i]!);
  return wide;
}

/** Numbers of an operand: 32-bit elements in place, 16-bit floats widened into a copy. */
function numbersOf(operand: KernelMemory | KernelWeight): Numbers {
  const { shape } = operand;
  if (operand.kind === 'weight') return { shape, data: (operand.weight as DenseWeight).values };
  const { dtype } = operand;
  const data = elements(operand);
  if (dtype === 'f16' || dtype === 'bf16') return { shape, data: widened(data, widen[dtype]) };
  return { shape, dtype, data: data as Exclude<HostArray, Uint16Array> };
}

/** Rounds what changed in a widened copy back into its operand: of a cache, a few rows. */
function store({ data }: Numbers, target: KernelMemory): void {
  if (target.dtype !== 'f16' && target.dtype !== 'bf16') return;
  const bits = elements(target);
  const [widenOne, round] = [widen[target.dtype], narrow[target.dtype]];
  for (let i = 0; i < bits.length; i++) {
    const value = data[i]!;
    if (value === 0 || value !== widenOne(bits[i]!)) bits[i] = round(value); // 0: its sign
  }
}

/** A kernel made from the op's definition, for drivers with `hostMemory` and weights of the form `{values}`. */
export function kernelOf(op: AnyOp): Kernel {
  const written = Object.keys(op.operands).filter((name) => op.operands[name]!.written);
  return (operands, attributes, outputs) => {
    const named = Object.fromEntries(
      Object.entries(operands).map(([name, operand]) => [name, numbersOf(operand)]),
    );
    const results = outputs.map(numbersOf);
    op.define(named, attributes, results);
    outputs.forEach((output, i) => store(results[i]!, output));
    for (const name of written) store(named[name]!, operands[name] as KernelMemory);
  };
}
