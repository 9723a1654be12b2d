import type { CapturedGraph, Graph, KvCache, KvSequence } from '@quern/core';
import type { LanguageModel } from '@quern/models';
import type { Draws } from '../sampling/draws.js';
import { nextTurn } from './next-turn.js';
import { type RecordedForward, recordForward } from './record-forward.js';
import { type Head, type RecordedOutput, type RowOutput, recordOutput, rowsOf } from './step-output.js';

/** One row of a decode step: the last token of a sequence, which has been appended to it. */
export interface DecodeRow {
  readonly sequence: KvSequence;
  readonly token: number;
  /** Where the device may draw the token that follows; without, it takes the likeliest. */
  readonly draws?: Draws | undefined;
}

/** What a step of S rows takes in, as host arrays: ids [S] and the arrays of the batch. */
export function describeRows(cache: KvCache, rows: readonly DecodeRow[]) {
  const ids = Int32Array.from(rows, ({ token }) => token);
  return { ids, arrays: cache.describe(rows.map(({ sequence }) => ({ sequence, rows: 1 }))) };
}

/**
 * The step of one token of each of S sequences, captured once and replayed for any S sequences: what changes is written
 * into its inputs. One replay at a time, since inputs and output are shared.
 */
export class DecodeGraph {
  /** The same memory after every replay. */
  private rows: readonly RowOutput[] | undefined;

  private constructor(
    private readonly graph: CapturedGraph,
    private readonly forward: RecordedForward,
    private readonly output: RecordedOutput,
    /** As last written. */
    private readonly inputs: ReturnType<typeof describeRows>,
  ) {}

  /** What is captured fits any other rows, as many as these. */
  static async capture(
    capability: Graph,
    model: LanguageModel,
    cache: KvCache,
    rows: readonly DecodeRow[],
    head: Head,
  ): Promise<DecodeGraph> {
    const inputs = describeRows(cache, rows);
    const step = model.backend.step();
    const forward = recordForward(step, model, cache, inputs.ids, inputs.arrays);
    const output = recordOutput(model.backend, step, forward.logits, head);
    await nextTurn();
    return new DecodeGraph(await capability.capture(step), forward, output, inputs);
  }

  /** Computes the rows. The next replay overwrites the output. */
  async run(rows: readonly DecodeRow[], signal: AbortSignal | undefined): Promise<readonly RowOutput[]> {
    this.write(rows);
    await this.graph.replay(signal ? { signal } : {});
    const { best, logits } = this.output;
    this.rows ??= rowsOf(this.output, this.graph.read(best), logits && this.graph.read(logits));
    return this.rows;
  }

  dispose(): void {
    this.graph.dispose();
  }

  private write(rows: readonly DecodeRow[]): void {
    const { graph, forward } = this;
    const { ids, arrays } = this.inputs;
    let movedBlocks = false;
    for (let s = 0; s < rows.length; s++) {
      const { sequence, token } = rows[s]!;
      const position = sequence.length - 1;
      ids[s] = token;
      arrays.positions[s] = position;
      arrays.slots[s] = sequence.slot(position);
      arrays.kvLengths[s] = sequence.length;
      if (this.setBlocks(s, sequence.blockTable)) movedBlocks = true;
    }
    graph.write(forward.ids, ids);
    for (const name of ['positions', 'slots', 'kvLengths'] as const)
      graph.write(forward.batch[name], arrays[name]);
    if (movedBlocks) graph.write(forward.batch.blockTable, arrays.blockTable);
    this.output.sampled?.write(graph, rows, 1);
  }

  /** Whether anything changed. Blocks beyond the sequence's own are never read, so what others left there may stay. */
  private setBlocks(row: number, blocks: readonly number[]): boolean {
    const { blockTable, kvLengths } = this.inputs.arrays; // [S, B]
    const first = (row * blockTable.length) / kvLengths.length;
    let changed = false;
    for (let i = 0; i < blocks.length; i++) {
      if (blockTable[first + i] === blocks[i]) continue;
      blockTable[first + i] = blocks[i]!;
      changed = true;
    }
    return changed;
  }
}
