/** Importance of the columns of matrices, by tensor name in GGUF files. */
export interface ImportanceMatrix {
  readonly path: string;
  /** [row length], or [experts, row length] for a stack of matrices: the mean square of each input, ≥ 0. */
  readonly entries: ReadonlyMap<string, Float32Array>;
  /** Source text, if the file names it. */
  readonly dataset?: string;
  /** Number of text chunks, if the file has it. */
  readonly chunks?: number;
}
