import { BackendError, type Kernel } from '@quern/core';
import { silu } from './elementwise.js';
import { floats, integers } from './operands.js';

/** Σ a[i] · b[i] over `count` elements. The sum is a double: JavaScript has no other floats. */
export function dot(a: Float32Array, atA: number, b: Float32Array, atB: number, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += a[atA + i]! * b[atB + i]!;
  return sum;
}

/** x [T, K] · w [N, K]ᵀ + bias [N] → y [T, N]. */
export const linear: Kernel = (operands, _attributes, [output]) => {
  const [x, w, y] = [floats(operands.x!), floats(operands.w!), floats(output!)];
  const bias = operands.bias && floats(operands.bias);
  const [N, K] = operands.w!.shape as [number, number];
  for (let i = 0; i < y.length; i++) {
    const [t, n] = [Math.floor(i / N), i % N];
    y[i] = dot(x, t * K, w, n * K, K) + (bias ? bias[n]! : 0);
  }
};

/** silu(x · gateᵀ) · (x · upᵀ): x [T, K], gate and up [F, K] → y [T, F]; the two products are not stored. */
export const gateUpSwiglu: Kernel = (operands, _attributes, [output]) => {
  const [x, gate, up] = [floats(operands.x!), floats(operands.gate!), floats(operands.up!)];
  const y = floats(output!);
  const [F, K] = operands.gate!.shape as [number, number];
  for (let i = 0; i < y.length; i++) {
    const [t, f] = [Math.floor(i / F), i % F];
    y[i] = silu(dot(x, t * K, gate, f * K, K)) * dot(x, t * K, up, f * K, K);
  }
};

/** Rows of `source` [R, D] by index. Throws OUT_OF_RANGE before anything is written. */
function copyRows(op: string, source: Float32Array, indices: Int32Array, y: Float32Array): void {
  if (indices.length === 0) return;
  const width = y.length / indices.length;
  const rows = source.length / width;
  const wrong = indices.find((index) => index < 0 || index >= rows);
  if (wrong !== undefined)
    throw new BackendError('OUT_OF_RANGE', `[${op}] row ${wrong} was asked for, but there are ${rows}`);
  indices.forEach((index, i) => y.set(source.subarray(index * width, (index + 1) * width), i * width));
}

export const embed: Kernel = ({ table, ids }, _attributes, [y]) =>
  copyRows('embed', floats(table!), integers(ids!), floats(y!));

export const gatherRows: Kernel = ({ x, rows }, _attributes, [y]) =>
  copyRows('gatherRows', floats(x!), integers(rows!), floats(y!));
