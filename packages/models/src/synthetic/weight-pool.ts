import { elementCount } from '@quern/core';
import {
  byteLength,
  type ChosenFormat,
  encode,
  encodeInt8,
  formats,
  type WritableFormat,
} from '@quern/quant';
import { ModelError } from '../error.js';
import { logNormalLevels, studentT } from './draw.js';
import { RandomWords } from './random-words.js';

/** Deviation of the logarithm of the rows' scales. */
const rowSpread = 0.2;
const levels = logNormalLevels(rowSpread);

/** Matrices of at most so many weights are drawn whole: a pool would cost more. */
const smallMatrix = 1 << 16;

/** Weights per level: enough that 256 columns of a matrix have full rank. */
const levelSize = 1 << 16;

/** Most weights that are copied together; q8_0 blocks of the mix int8 share a scale so far. */
const runLength = 256;

/** Bytes per write. */
const pieceBytes = 1 << 22;

function needNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new ModelError('ABORTED', 'making the model was aborted', { cause: signal.reason });
}

/** `count` weights of standard deviation 1, without row scales. */
function drawWeights(count: number, words: RandomWords): Float32Array {
  const values = new Float32Array(count);
  for (let i = 0; i < count; i++) values[i] = studentT(words);
  return values;
}

/** A matrix of standard deviation 1 / √K; each row has one of the levels. */
function drawMatrix(count: number, rowLength: number, words: RandomWords): Float32Array {
  const values = drawWeights(count, words);
  for (let from = 0; from < count; from += rowLength) {
    const deviation = levels[words.below(levels.length)]! / Math.sqrt(rowLength);
    for (let i = from; i < from + rowLength; i++) values[i]! *= deviation;
  }
  return values;
}

/** The encoding of a matrix. */
type Encoding = Pick<ChosenFormat<WritableFormat>, 'format' | 'sharesScales'>;

function encodeWeights(
  { format, sharesScales }: Encoding,
  values: Float32Array,
  rowLength: number,
): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(byteLength(format, [values.length]));
  if (sharesScales) encodeInt8(values, rowLength, bytes);
  else encode(format, values, 0, bytes, 0, values.length);
  return bytes;
}

/**
 * Weights like those of trained matrices: Student's t times one of 16 log-normal row scales. The quantiser encodes a
 * pool of them per format and row length; a row of a matrix is runs from random places of the pool.
 */
export class WeightPools {
  /** [16 levels, levelSize], standard deviation 1 */
  private drawn: Float32Array | undefined;
  /** Encoded weights per level, by encoding and row length. */
  private readonly encoded = new Map<string, readonly Buffer[]>();

  constructor(
    private readonly seed: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** The bytes of a matrix [.., N, K] of standard deviation 1 / √K, piece by piece: bounded memory. */
  async *matrix(encoding: Encoding, shape: readonly number[], seed: number): AsyncGenerator<Uint8Array> {
    const rowLength = shape.at(-1)!;
    const words = new RandomWords(seed);
    if (elementCount(shape) <= smallMatrix) {
      yield encodeWeights(encoding, drawMatrix(elementCount(shape), rowLength, words), rowLength);
      return;
    }
    const rowBytes = byteLength(encoding.format, [rowLength]);
    const total = byteLength(encoding.format, shape);
    const piece = Math.ceil(pieceBytes / rowBytes) * rowBytes;
    const row = new RowMaker(encoding, rowLength, this.pool(encoding, rowLength), words);
    for (let done = 0; done < total; done += piece) {
      needNotAborted(this.signal);
      const bytes = new Uint8Array(Math.min(piece, total - done));
      for (let at = 0; at < bytes.length; at += rowBytes) row.make(bytes, at);
      yield bytes;
    }
  }

  private pool(encoding: Encoding, rowLength: number): readonly Buffer[] {
    const key = `${encoding.format} ${encoding.sharesScales ?? false} ${rowLength}`;
    const pool = this.encoded.get(key) ?? levels.map((_, i) => this.encodeLevel(encoding, rowLength, i));
    this.encoded.set(key, pool);
    return pool;
  }

  private encodeLevel(encoding: Encoding, rowLength: number, i: number): Buffer {
    const deviation = levels[i]! / Math.sqrt(rowLength);
    this.drawn ??= drawWeights(levels.length * levelSize, new RandomWords(this.seed));
    const values = this.drawn.slice(i * levelSize, (i + 1) * levelSize);
    for (let j = 0; j < values.length; j++) values[j]! *= deviation;
    return encodeWeights(encoding, values, runLength);
  }
}

/** Copies rows from random places of a pool. */
class RowMaker {
  private readonly runs: readonly Run[];

  constructor(
    encoding: Encoding,
    rowLength: number,
    private readonly pool: readonly Buffer[],
    private readonly words: RandomWords,
  ) {
    this.runs = runsOf(encoding, rowLength);
  }

  /** Writes a row from byte `at` on: all its runs have the same level. */
  make(bytes: Uint8Array, at: number): void {
    const { runs, words } = this;
    const level = this.pool[words.below(levels.length)]!;
    let to = at;
    for (let i = 0; i < runs.length; i++) {
      const { size, places, step } = runs[i]!;
      const from = words.below(places) * step;
      level.copy(bytes, to, from, from + size);
      to += size;
    }
  }
}

/** A part of a row, and where a level has such parts: at `places` multiples of `step`. In bytes. */
interface Run {
  readonly size: number;
  readonly places: number;
  readonly step: number;
}

function runsOf({ format, sharesScales }: Encoding, rowLength: number): Run[] {
  const { blockSize, blockBytes } = formats[format];
  const unit = sharesScales ? runLength : blockSize;
  const bytes = (count: number) => (count / blockSize) * blockBytes;
  return Array.from({ length: Math.ceil(rowLength / runLength) }, (_, i) => {
    const count = Math.min(runLength, rowLength - i * runLength);
    return {
      size: bytes(count),
      places: Math.floor((levelSize - count) / unit) + 1,
      step: bytes(unit),
    };
  });
}
