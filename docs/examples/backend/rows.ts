import type { Kernel } from '@quern/core';
import { floats, integers } from './operands.js';

/** e^(x − max) / Σ e^(x − max) over the last dimension. */
export const softmax: Kernel = ({ x }, _attributes, [output]) => {
  const [values, y] = [floats(x!), floats(output!)];
  const width = x!.shape[x!.shape.length - 1] ?? 1;
  for (let at = 0; at < values.length; at += width) {
    const row = values.subarray(at, at + width);
    const max = row.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const sum = row.reduce((total, value) => total + Math.exp(value - max), 0);
    row.forEach((value, i) => {
      y[at + i] = Math.exp(value - max) / sum;
    });
  }
};

/** Ties go to the lowest index, and NaN never wins: `>` is false for both. */
export const argmax: Kernel = ({ x }, _attributes, [output]) => {
  const [values, y] = [floats(x!), integers(output!)];
  const width = x!.shape[x!.shape.length - 1]!;
  for (let row = 0; row < y.length; row++) {
    let [best, max] = [0, Number.NEGATIVE_INFINITY];
    for (let i = 0; i < width; i++) {
      const value = values[row * width + i]!;
      if (value > max) [best, max] = [i, value];
    }
    y[row] = best;
  }
};
