/** Consecutive layers: from ≤ i < to. */
export interface LayerRange {
  readonly from: number;
  readonly to: number;
}

/** For messages, both ends inclusive: '0-11'. */
export const showRange = ({ from, to }: LayerRange): string =>
  to - from === 1 ? `${from}` : `${from}-${to - 1}`;

/** 'layer 3', 'layers 0-11' */
export const showLayers = (range: LayerRange): string =>
  `${range.to - range.from === 1 ? 'layer' : 'layers'} ${showRange(range)}`;

/** The fault of ranges that must hold every layer once, in order; undefined: no fault. */
export function rangeFault(ranges: readonly LayerRange[], layers: number): string | undefined {
  let next = 0;
  for (const range of ranges) {
    const { from, to } = range;
    if (!(Number.isInteger(from) && Number.isInteger(to) && from >= 0 && to > from))
      return `a range has whole numbers 0 ≤ from < to; got from ${from} to ${to}`;
    if (to > layers) return `the range ${showRange(range)} goes beyond the model's layers, 0-${layers - 1}`;
    if (from < next)
      return `the range ${showRange(range)} overlaps the range before it, which ends at ${next - 1}`;
    if (from > next) return `${missing(next, from)} in no range`;
    next = to;
  }
  return next < layers ? `${missing(next, layers)} in no range` : undefined;
}

const missing = (from: number, to: number): string =>
  `${showLayers({ from, to })} ${to - from === 1 ? 'is' : 'are'}`;
