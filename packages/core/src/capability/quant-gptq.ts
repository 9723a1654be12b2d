import { showShape } from '../dtype.js';
import { BackendError } from '../error.js';
import type { Weight, WeightBytes } from '../weight.js';

/** A GPTQ matrix [N, K] as Hugging Face folders hold it: packed along K, least significant bits first. */
export interface GptqSource {
  readonly name: string;
  readonly shape: readonly [N: number, K: number];
  readonly bits: 4 | 8;
  /** Columns that share a scale; −1: all of them. */
  readonly groupSize: number;
  /** int32 [K · bits / 32, N]. */
  readonly qweight: WeightBytes;
  /** int32 [groups, N · bits / 32]. */
  readonly qzeros: WeightBytes;
  /** f16 [groups, N]. */
  readonly scales: WeightBytes;
  /** int32 [K], the group of each column (act-order); absent: column ÷ groupSize. */
  readonly groupIndex?: WeightBytes | undefined;
  /** Zero points are stored minus one (version 1) or unchanged (version 2). */
  readonly version: 1 | 2;
}

/** GPTQ weights, repacked once at load. `linear` takes the result like any other weight. */
export interface QuantGptq {
  readonly bits: ReadonlySet<4 | 8>;
  /** Throws BAD_WEIGHT if the parts do not fit each other, UNSUPPORTED for other bits. */
  loadWeight(source: GptqSource): Promise<Weight>;
}

/** Number of column groups of a matrix. */
export const gptqGroups = ({ shape: [, K], groupSize }: Pick<GptqSource, 'shape' | 'groupSize'>): number =>
  groupSize === -1 ? 1 : Math.ceil(K / groupSize);

/** Required bytes of each part. */
export function gptqPartBytes(source: GptqSource): Readonly<Record<GptqPart, number>> {
  const { bits, shape } = source;
  const [N, K] = shape;
  const groups = gptqGroups(source);
  return {
    qweight: (K * N * bits) / 8,
    qzeros: (groups * N * bits) / 8,
    scales: 2 * groups * N,
    groupIndex: 4 * K,
  };
}

type GptqPart = 'qweight' | 'qzeros' | 'scales' | 'groupIndex';

/** Throws BAD_WEIGHT for impossible sizes or a part of the wrong length. */
export function checkGptqSource(source: GptqSource): void {
  const bad = (message: string) =>
    new BackendError('BAD_WEIGHT', `[quantGptq.loadWeight] '${source.name}': ${message}`);
  const { shape, bits, groupSize } = source;
  const perWord = 32 / bits;
  if (shape.length !== 2 || shape.some((size) => !Number.isInteger(size) || size < 1 || size % perWord !== 0))
    throw bad(`shape ${showShape(shape)} must be [N, K], both multiples of ${perWord} for ${bits} bits`);
  if (!(groupSize === -1 || (Number.isInteger(groupSize) && groupSize >= 1)))
    throw bad(`groupSize must be −1 or a whole number from 1; got ${groupSize}`);
  for (const [part, expected] of Object.entries(gptqPartBytes(source)) as [GptqPart, number][]) {
    const bytes = source[part];
    if (bytes && bytes.byteLength !== expected)
      throw bad(
        `${part} takes ${expected} bytes for shape ${showShape(shape)}, ${bits} bits and groups of ${groupSize}; ` +
          `got ${bytes.byteLength}`,
      );
  }
}
