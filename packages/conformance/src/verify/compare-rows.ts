/** Difference of rows (logits or embeddings) from a reference's rows. */
export interface RowsComparison {
  readonly rows: number;
  /** Largest ‖got − want‖ / ‖want − mean(want)‖ of a row; Infinity if a value is not finite. */
  readonly error: number;
  /** Rows with the same index of the largest element. */
  readonly agree: number;
}

const largest = (row: Float32Array): number =>
  row.reduce((best, value, i) => (value > row[best]! ? i : best), 0);

function errorOf(got: Float32Array, want: Float32Array): number {
  const mean = want.reduce((sum, value) => sum + value, 0) / want.length;
  let [off, size] = [0, 0];
  for (let i = 0; i < want.length; i++) {
    off += (got[i]! - want[i]!) ** 2;
    size += (want[i]! - mean) ** 2;
  }
  const error = Math.sqrt(off / size);
  return Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
}

/** Compares rows with a reference's, one by one. Throws RangeError for different numbers of rows. */
export function compareRows(got: readonly Float32Array[], want: readonly Float32Array[]): RowsComparison {
  if (got.length !== want.length || got.some((row, i) => row.length !== want[i]!.length))
    throw new RangeError(`${got.length} rows cannot be compared with ${want.length}`);
  return {
    rows: want.length,
    error: Math.max(0, ...want.map((row, i) => errorOf(got[i]!, row))),
    agree: want.filter((row, i) => largest(row) === largest(got[i]!)).length,
  };
}
