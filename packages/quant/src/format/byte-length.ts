import { FormatError } from '../error.js';
import { formats, type GgufFormat } from './formats.js';

/**
 * Bytes of a tensor. `shape` is row-major, outermost first; [] is a scalar.
 * @throws FormatError BAD_LENGTH for a dimension that is not a positive integer, an innermost dimension that is not
 * whole blocks, or a tensor over 2^53 bytes.
 */
export function byteLength(format: GgufFormat, shape: readonly number[]): number {
  const { blockSize, blockBytes } = formats[format];
  const wrong = shape.find((size) => !Number.isSafeInteger(size) || size < 1);
  if (wrong !== undefined) fail(`[${shape}] has a dimension of ${wrong}; dimensions are positive integers`);
  const row = shape.at(-1) ?? 1;
  if (row % blockSize !== 0) {
    fail(
      `[${shape}] does not fit ${format}: its innermost dimension ${row} is not a multiple of ${blockSize}`,
    );
  }
  const bytes = shape.reduce((product, size) => product * size, 1 / blockSize) * blockBytes;
  if (!Number.isSafeInteger(bytes)) fail(`[${shape}] of ${format} is too large: ${bytes} bytes`);
  return bytes;
}

function fail(message: string): never {
  throw new FormatError('BAD_LENGTH', `shape ${message}`);
}
