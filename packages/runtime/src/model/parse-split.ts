import type { LayerRange } from '@quern/models';
import { RuntimeError } from '../error.js';

/** '0-11,12-27' → ranges; both ends are inclusive. @throws RuntimeError BAD_OPTION */
export const parseSplit = (text: string): LayerRange[] =>
  text.split(',').map((range) => parseRange(range, text));

function parseRange(range: string, text: string): LayerRange {
  const [, first, last = first] = /^\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?$/.exec(range) ?? [];
  const [from, end] = [Number(first), Number(last)];
  if (first !== undefined && from <= end) return { from, to: end + 1 };
  throw new RuntimeError(
    'BAD_OPTION',
    `split is '${text}', and '${range.trim()}' is no range of layers: write the first and the last layer of each backend, as in '0-11,12-27'`,
  );
}
