import { BackendError } from '../error.js';
import type { Tensor } from '../tensor.js';
import type { KvSequence } from './kv-sequence.js';

/** The places of a sequence's tokens in a cache. */
export type KvPlaces = Pick<KvSequence, 'length' | 'blockTable' | 'slot'> &
  Partial<Pick<KvSequence, 'states'>>;

/** The last `rows` tokens of a sequence, as part of a step. */
export interface BatchEntry {
  readonly sequence: KvPlaces;
  readonly rows: number;
}

/**
 * A ragged batch as host arrays: T rows of S sequences. They become inputs of a step, or are written into a captured
 * graph.
 */
export interface BatchArrays {
  /** [T] position of each row in its sequence. */
  readonly positions: Int32Array;
  /** [S + 1] first row of each sequence, then T. */
  readonly cuSeqlens: Int32Array;
  /** [S] tokens of each sequence, including the rows of this step. */
  readonly kvLengths: Int32Array;
  /** [T] cache slot of each row. */
  readonly slots: Int32Array;
  /** [S, B] blocks of each sequence. */
  readonly blockTable: Int32Array;
  /** [S] last row of each sequence: its logits choose the next token. */
  readonly lastRows: Int32Array;
  /** [S, 2] state that each sequence reads, and the one that it writes; −1: none. Empty for caches without states. */
  readonly states: Int32Array;
}

/**
 * The same arrays as tensors of a step. Prefill, decode and mixed batches have the same form. `states`: of caches with
 * states.
 */
export type AttentionBatch = { readonly [Name in Exclude<keyof BatchArrays, 'states'>]: Tensor } & {
  readonly states?: Tensor | undefined;
};

/** The ragged batch of attention without a cache. */
export interface UncachedBatch {
  /** [S + 1] first row of q of each sequence. */
  readonly cuSeqlens: Tensor;
  /** [S + 1] first key of each sequence; absent: equal to `cuSeqlens` (self-attention). */
  readonly cuKeys?: Tensor;
}

/** @throws BackendError BAD_ARGUMENT if an entry has more rows than its sequence has tokens */
export function describeBatch(
  entries: readonly BatchEntry[],
  tableWidth: number,
  { hasStates = false }: { readonly hasStates?: boolean } = {},
): BatchArrays {
  const rows = entries.reduce((sum, entry) => sum + entry.rows, 0);
  const arrays: BatchArrays = {
    positions: new Int32Array(rows),
    cuSeqlens: new Int32Array(entries.length + 1),
    kvLengths: new Int32Array(entries.length),
    slots: new Int32Array(rows),
    blockTable: new Int32Array(entries.length * tableWidth),
    lastRows: new Int32Array(entries.length),
    states: new Int32Array(hasStates ? 2 * entries.length : 0),
  };
  let t = 0;
  entries.forEach(({ sequence, rows: count }, s) => {
    if (!(count >= 0 && count <= sequence.length))
      throw new BackendError(
        'BAD_ARGUMENT',
        `entry ${s} of the batch has ${count} rows, but its sequence has ${sequence.length} tokens`,
      );
    for (let position = sequence.length - count; position < sequence.length; position++, t++) {
      arrays.positions[t] = position;
      arrays.slots[t] = sequence.slot(position);
    }
    arrays.cuSeqlens[s + 1] = t;
    arrays.kvLengths[s] = sequence.length;
    arrays.blockTable.set(sequence.blockTable, s * tableWidth);
    arrays.lastRows[s] = t - 1;
    if (hasStates) arrays.states.set(sequence.states ?? [-1, -1], 2 * s);
  });
  return arrays;
}
