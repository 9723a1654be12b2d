const perWord = 8; // 4-bit values in an int32
/** Nibble i of a word holds column 8 · w + order[i]. */
const order = [0, 2, 4, 6, 1, 3, 5, 7] as const;

/**
 * Repacks the quantised values of an AWQ matrix from packed along N (AWQ) to packed along K (GPTQ). AWQ stores zero
 * points unchanged: version 2 of GPTQ.
 * @param qweight int32 [K, N / 8]
 * @returns int32 [K / 8, N]
 */
export function awqWeightsAsGptq(qweight: Int32Array, N: number, K: number): Int32Array {
  const packed = new Int32Array((K / perWord) * N);
  for (let k = 0; k < K; k++)
    for (let n = 0; n < N; n++) {
      const word = qweight[(k * N) / perWord + (n >> 3)]!;
      packed[(k >> 3) * N + n]! |= nibble(word, n & 7) << (4 * (k & 7));
    }
  return packed;
}

/** Zero points [groups, N / 8] in column order. */
export function awqZerosAsGptq(qzeros: Int32Array): Int32Array {
  return qzeros.map((word) => {
    let packed = 0;
    for (let column = 0; column < perWord; column++) packed |= nibble(word, column) << (4 * column);
    return packed;
  });
}

const place = order.map((_, column) => order.indexOf(column as (typeof order)[number]));
const nibble = (word: number, column: number): number => (word >>> (4 * place[column]!)) & 15;
