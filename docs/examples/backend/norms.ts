import type { Kernel } from '@quern/core';
import { floats } from './operands.js';
import { dot } from './products.js';

/** y = x / √(mean(x²) + eps) · w, row by row. */
function normalise(x: Float32Array, w: Float32Array, eps: number, y: Float32Array): void {
  const D = w.length;
  for (let at = 0; at < x.length; at += D) {
    const factor = 1 / Math.sqrt(dot(x, at, x, at, D) / D + eps);
    for (let i = 0; i < D; i++) y[at + i] = x[at + i]! * factor * w[i]!;
  }
}

export const rmsNorm: Kernel = ({ x, w }, attributes, [y]) =>
  normalise(floats(x!), floats(w!), attributes.eps!, floats(y!));

/** Outputs: the sum (the residual stream), and its norm (input of the next block). */
export const addRmsNorm: Kernel = (operands, attributes, outputs) => {
  const [a, b] = [floats(operands.a!), floats(operands.b!)];
  const [sum, y] = [floats(outputs[0]!), floats(outputs[1]!)];
  for (let i = 0; i < sum.length; i++) sum[i] = a[i]! + b[i]!;
  normalise(sum, floats(operands.w!), attributes.eps!, y);
};
