import { dtypeBytes, elementCount, showShape } from './dtype.js';
import { BackendError } from './error.js';
import { type DenseFormat, denseFormats, type WeightPart, type WeightSource } from './weight.js';

/** Whether a weight lies in parts. */
export const inParts = (bytes: WeightSource['bytes']): bytes is readonly WeightPart[] => Array.isArray(bytes);

/** The rows of a weight that parts count, and the elements of each. */
export function rowsOf({ shape }: Pick<WeightSource, 'shape'>): {
  readonly rows: number;
  readonly width: number;
} {
  const width = shape.length > 1 ? shape[shape.length - 1]! : 1;
  return { rows: elementCount(shape) / width, width };
}

/** Bytes of one row of a part: stored, those before the first column of the weight, and those of the weight's columns. */
export interface RowBytes {
  readonly stored: number;
  readonly skipped: number;
  readonly used: number;
}

/** Of a part of a weight whose rows have `width` elements. Fractions where the part is wrong. */
export function rowBytesOf({ bytes, rows, columns }: WeightPart, width: number): RowBytes {
  const stored = bytes.byteLength / rows;
  const { from, of } = columns ?? { from: 0, of: width };
  return { stored, skipped: (stored * from) / of, used: (stored * width) / of };
}

const elementBytes = (format: string): number | undefined =>
  (denseFormats as readonly string[]).includes(format) ? dtypeBytes[format as DenseFormat] : undefined;

/**
 * Throws BAD_WEIGHT where the parts of a weight do not make up its shape, or a part has too few or too many bytes. Core does
 * not know blocks: a driver checks that columns of a block format begin and end with one.
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

/** What is wrong with a part whose elements take `bytesPerElement`, on average where they are in blocks. */
function problemOf(part: WeightPart, width: number, bytesPerElement: number): string | undefined {
  const { from, of } = part.columns ?? { from: 0, of: width };
  if (!(Number.isSafeInteger(from) && from >= 0 && isSize(of) && from + width <= of))
    return `columns ${from} to ${from + width} lie outside rows of ${of} elements`;
  const expected = part.rows * of * bytesPerElement;
  if (part.bytes.byteLength !== expected)
    return `${part.rows} rows of ${of} elements take ${expected} bytes; got ${part.bytes.byteLength}`;
  const { skipped, used } = rowBytesOf(part, width);
  if (!Number.isInteger(skipped) || !Number.isInteger(used))
    return `columns ${from} to ${from + width} are no whole blocks`;
  return undefined;
}
