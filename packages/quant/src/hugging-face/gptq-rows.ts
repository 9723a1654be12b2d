import { BackendError, checkGptqSource, f16ToF32, type GptqSource, gptqGroups } from '@quern/core';

/** The parts of a GPTQ matrix in memory. */
export interface GptqInMemory extends GptqSource {
  readonly qweight: Uint8Array;
  readonly qzeros: Uint8Array;
  readonly scales: Uint8Array;
  readonly groupIndex?: Uint8Array | undefined;
}

/**
 * Rows of a GPTQ matrix as floats: w[n, k] = (q − zero) · scale, exact in f32 (9 bits times 11). Version 1: zero point
 * = stored value + 1, without wrap-around. Throws BAD_WEIGHT if a column has a group outside the matrix.
 */
export class GptqRows {
  private readonly words: Int32Array;
  private readonly zeros: Int32Array;
  private readonly scales: Uint16Array;
  private readonly groupOf: Int32Array; // [K]

  constructor(private readonly source: GptqInMemory) {
    checkGptqSource(source);
    const [, K] = source.shape;
    this.words = wordsOf(source.qweight);
    this.zeros = wordsOf(source.qzeros);
    this.scales = new Uint16Array(source.scales.slice().buffer);
    const size = source.groupSize === -1 ? K : source.groupSize;
    this.groupOf = source.groupIndex
      ? wordsOf(source.groupIndex)
      : Int32Array.from({ length: K }, (_, k) => Math.floor(k / size));
    const groups = gptqGroups(source);
    const wrong = this.groupOf.find((group) => !(group >= 0 && group < groups));
    if (wrong !== undefined)
      throw new BackendError('BAD_WEIGHT', `'${source.name}': a column is of group ${wrong} of ${groups}`);
  }

  /** Rows [first, first + rows) into dst [rows, K] from element `at`. */
  decode(first: number, rows: number, dst: Float32Array, at = 0): void {
    const { bits, shape, version } = this.source;
    const [N, K] = shape;
    const perWord = 32 / bits;
    const mask = 2 ** bits - 1;
    const groups = gptqGroups(this.source);
    const [zeroOf, scaleOf] = [new Int32Array(groups), new Float32Array(groups)]; // for one row
    for (let n = first; n < first + rows; n++) {
      for (let g = 0; g < groups; g++) {
        const word = this.zeros[(g * N) / perWord + Math.floor(n / perWord)]!;
        zeroOf[g] = ((word >>> (bits * (n % perWord))) & mask) + (version === 1 ? 1 : 0);
        scaleOf[g] = f16ToF32(this.scales[g * N + n]!);
      }
      const row = at + (n - first) * K;
      for (let k = 0; k < K; k++) {
        const g = this.groupOf[k]!;
        const q = (this.words[Math.floor(k / perWord) * N + n]! >>> (bits * (k % perWord))) & mask;
        dst[row + k] = (q - zeroOf[g]!) * scaleOf[g]!;
      }
    }
  }
}

/** A copy, because bytes of a file may be unaligned. */
const wordsOf = (bytes: Uint8Array): Int32Array => new Int32Array(bytes.slice().buffer);
