import { type Kernel, ropeLayouts } from '@quern/core';
import { floats } from './operands.js';

/**
 * Rotates pairs of the first R elements of each head. A row of the table [T, R] holds the R/2 cosines of a position,
 * then its R/2 sines.
 */
export const rope: Kernel = ({ x, table }, { layout }, [output]) => {
  const [from, angles, y] = [floats(x!), floats(table!), floats(output!)];
  const [, H, d] = x!.shape as [number, number, number];
  const R = table!.shape[1]!;
  const interleaved = layout === ropeLayouts.interleaved;
  y.set(from);
  for (let head = 0; head * d < from.length; head++) {
    const row = Math.floor(head / H) * R;
    for (let i = 0; i < R / 2; i++) {
      const first = head * d + (interleaved ? 2 * i : i);
      const second = first + (interleaved ? 1 : R / 2);
      const [a, b] = [from[first]!, from[second]!];
      const [cos, sin] = [angles[row + i]!, angles[row + R / 2 + i]!];
      y[first] = a * cos - b * sin;
      y[second] = a * sin + b * cos;
    }
  }
};
