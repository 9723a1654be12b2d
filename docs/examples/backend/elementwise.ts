import type { Kernel } from '@quern/core';
import { floats } from './operands.js';

/** b has the shape of a, or is one row [D] for every row of a [T, D]. */
const binary =
  (combine: (a: number, b: number) => number): Kernel =>
  (operands, _attributes, [output]) => {
    const [a, b, y] = [floats(operands.a!), floats(operands.b!), floats(output!)];
    for (let i = 0; i < y.length; i++) y[i] = combine(a[i]!, b[i % b.length]!);
  };

export const add = binary((a, b) => a + b);
export const mul = binary((a, b) => a * b);

export const silu = (x: number): number => x / (1 + Math.exp(-x));

export const swiglu: Kernel = (operands, _attributes, [output]) => {
  const [gate, up, y] = [floats(operands.gate!), floats(operands.up!), floats(output!)];
  for (let i = 0; i < y.length; i++) y[i] = silu(gate[i]!) * up[i]!;
};
