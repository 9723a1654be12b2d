import type { AttnConfig, Backend, Tensor } from '@quern/core';
import type { EncoderBatch, WindowArrays } from './encoder.js';

/** @param half rows to each side */
export function windowArrays(cuSeqlens: Int32Array, half: number): WindowArrays {
  const T = cuSeqlens.at(-1)!;
  const ahead = Int32Array.from({ length: T }, (_, row) => row);
  const back = ahead.slice();
  const inside = new Float32Array(T);
  for (let s = 0; s + 1 < cuSeqlens.length; s++)
    for (let row = cuSeqlens[s]!; row + half < cuSeqlens[s + 1]!; row++) {
      ahead[row + half] = row;
      back[row] = row + half;
      inside[row] = 1;
    }
  return { ahead, back, inside, atEnd: inside.map((is) => 1 - is) };
}

/** Half of the models' window: rows that a row sees to each side, if the longest text of T rows has more; else 0. */
export function halfWindow(windows: readonly number[] = [], T: number): number {
  const half = Math.floor(Math.max(0, ...windows) / 2);
  return half + 1 < T ? half : 0;
}

/**
 * Attention to both sides: a row sees all rows of its text or, with `window`, half of them on each side: q [T, H, d], k
 * and v [T, Hk, d] → [T, H, d]. The op's windows end at the query's place. So a query stands h places further, where
 * the last h of 2 h + 1 are behind its row; in the last h rows of a text, where there is no such place, it sees all behind.
 */
export function windowedAttention(
  b: Backend,
  { q, k, v }: { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor },
  { cuSeqlens, window: rows }: EncoderBatch,
  { window = 0, ...config }: AttnConfig,
): Tensor {
  const attend = (queries: Tensor, causal: boolean, seen: number) =>
    b.uncachedAttention(queries, k, v, { cuSeqlens }, { ...config, causal, window: seen });
  if (window === 0 || !rows) return attend(q, false, 0);
  const [T, H, d] = q.shape as [number, number, number];
  const half = Math.floor(window / 2);
  const rowsOf = (x: Tensor, index: Tensor) => b.gatherRows(b.view(x, [T, H * d]), index);
  const times = (x: Tensor, factors: Tensor) =>
    b.weightedSum(b.view(x, [T, 1, H * d]), b.view(factors, [T, 1]));
  const inside = attend(b.view(rowsOf(q, rows.ahead), [T, H, d]), true, 2 * half + 1); // [T, H, d]
  const atEnd = attend(q, false, half + 1); // [T, H, d]
  const y = b.add(times(rowsOf(inside, rows.back), rows.inside), times(atEnd, rows.atEnd)); // [T, H · d]
  return b.view(y, [T, H, d]);
}
