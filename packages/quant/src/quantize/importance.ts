/** How much the columns of matrices matter, by the name of the tensor in GGUF files. */
export interface ImportanceMatrix {
  readonly path: string;
  /** [row length], or [experts, row length] for a stack of matrices: the mean square of each input, none below 0. */
  readonly entries: ReadonlyMap<string, Float32Array>;
  /** What text it was made from, where the file says so. */
  readonly dataset?: string;
  /** Chunks of text that it was made from, where the file says so. */
  readonly chunks?: number;
}
