import { badArgument } from '../error.js';

/** Embeddings of texts. */
export class Embeddings {
  constructor(
    /** [texts · dimensions], in the order of the texts. */
    readonly values: Float32Array,
    readonly dimensions: number,
    /** Tokens of all texts, start and end tokens included. */
    readonly tokens: number,
    /** Number of texts cut off at the end. */
    readonly truncated: number,
  ) {}

  /** Number of texts. */
  get length(): number {
    return this.values.length / this.dimensions;
  }

  /**
   * The embedding of one text, [dimensions]: a view of `values`. A negative index counts from the end.
   * @throws RuntimeError BAD_ARGUMENT for an index without a text
   */
  at(index: number): Float32Array {
    const { length, dimensions } = this;
    const row = index < 0 ? length + index : index;
    if (!Number.isInteger(row) || row < 0 || row >= length)
      throw badArgument(`[at] index is ${index}; there are ${length} embeddings`, 'index');
    return this.values.subarray(row * dimensions, (row + 1) * dimensions);
  }
}
