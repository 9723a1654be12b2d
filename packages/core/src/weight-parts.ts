import { dtypeBytes, elementCount, showShape } from './dtype.js';
import { BackendError } from './error.js';
import { type DenseFormat, denseFormats, type WeightPart, type WeightSource } from './weight.js';

/** Whether a weight consists of parts. */
export const inParts = (bytes: WeightSource['bytes']): bytes is readonly WeightPart[] => Array.isArray(bytes);

/** Number of rows of a weight, as counted by parts, and elements per row. */
export function rowsOf({ shape }: Pick<WeightSource, 'shape'>): {
  readonly rows: number;
  readonly width: number;
} {
  const width = shape.length > 1 ? shape[shape.length - 1]! : 1;
  return { rows: elementCount(shape) / width, width };
}

/** Bytes of one row of a part: stored; before the weight's first column; of the weight's columns. */
export interface RowBytes {
  readonly stored: number;
  readonly skipped: number;
  readonly used: number;
}

/** For a part of a weight with rows of `width` elements. Not whole numbers if the part is wrong. */
export function rowBytesOf({ bytes, rows, columns }: WeightPart, width: number): RowBytes {
  const stored = bytes.byteLength / rows;
  const { from, of } = columns ?? { from: 0, of: width };
  return { stored, skipped: (stored * from) / of, used: (stored * width) / of };
}

const elementBytes = (format: string): number | undefined =>
  (denseFormats as readonly string[]).includes(format) ? dtypeBytes[format as DenseFormat] : undefined;

/**
 * Throws BAD_WEIGHT if the parts do not add up to the weight's shape, or a part has the wrong number of bytes. Core
 * does not know blocks: a driver checks that columns of a block format begin and end at block borders.
 */
export function checkParts(source: WeightSource): void {
  const { name, shape, format, bytes } = source;
  if (!inParts(bytes)) return;
  const bad = (message: string) => new BackendError('BAD_WEIGHT', `[loadWeight] '${name}': ${message}`);
  const { rows, width } = rowsOf(source);
  const wrong = bytes.find((part) => !isSize(part.rows));
  if (wrong) throw bad(`a part has ${wrong.rows} rows; a part has 1 or more`);
  const sum = bytes.reduce((total, part) => total + part.rows, 0);
  if (sum !== rows)
    throw bad(`shape ${showShape(shape)} has ${rows} rows; its ${bytes.length} parts have ${sum}`);
  const used = elementBytes(format) ?? rowBytesOf(bytes[0]!, width).used / width;
  bytes.forEach((part, i) => {
    const problem = problemOf(part, width, used);
    if (problem) throw bad(`part ${i + 1} of ${bytes.length}: ${problem}`);
  });
}

const isSize = (value: number) => Number.isSafeInteger(value) && value >= 1;

/** The fault of a part, if any. `bytesPerElement` is an average for block formats. */
function problemOf(part: WeightPart, width: number, bytesPerElement: number): string | undefined {
  const { from, of } = part.columns ?? { from: 0, of: width };
  if (!(Number.isSafeInteger(from) && from >= 0 && isSize(of) && from + width <= of))
    return `columns ${from} to ${from + width} lie outside rows of ${of} elements`;
  const expected = part.rows * of * bytesPerElement;
  if (part.bytes.byteLength !== expected)
    return `${part.rows} rows of ${of} elements take ${expected} bytes; got ${part.bytes.byteLength}`;
  const { skipped, used } = rowBytesOf(part, width);
  if (!Number.isInteger(skipped) || !Number.isInteger(used))
    return `columns ${from} to ${from + width} are not whole blocks`;
  return undefined;
}
