import {
  type CapturedGraph,
  type Graph,
  type HostArray,
  type KvCache,
  type KvSequence,
  RunQueue,
} from '@quern/core';
import type { LanguageModel } from '@quern/models';
import { nextTurn } from './next-turn.js';
import { type RecordedForward, recordForward } from './record-forward.js';
import type { Head } from './token-choice.js';

/**
 * The step of one token of one sequence, captured once and replayed for every token of every sequence: what changes
 * is written into its inputs. Replays take turns, since inputs and output are shared.
 */
export class DecodeGraph {
  private readonly one = new Int32Array(1);
  private readonly turns = new RunQueue();

  private constructor(
    private readonly graph: CapturedGraph,
    private readonly recorded: RecordedForward,
    /** As last written. */
    private readonly blockTable: Int32Array,
  ) {}

  /** `sequence` has the one token appended; what is captured fits any other. */
  static async capture(
    capability: Graph,
    model: LanguageModel,
    cache: KvCache,
    sequence: KvSequence,
    head: Head,
  ): Promise<DecodeGraph> {
    const arrays = cache.describe([{ sequence, rows: 1 }]);
    const step = model.backend.step();
    const recorded = recordForward(step, model, cache, new Int32Array(1), arrays, head);
    await nextTurn();
    return new DecodeGraph(capability.capture(step), recorded, arrays.blockTable);
  }

  /** Computes the last token of `sequence`, and gives the output to `take` before another replay overwrites it. */
  run(
    sequence: KvSequence,
    token: number,
    take: (row: HostArray) => number,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    return this.turns.run(async () => {
      this.write(sequence, token);
      await this.graph.replay(signal ? { signal } : {});
      return take(this.graph.read(this.recorded.output));
    });
  }

  dispose(): void {
    this.graph.dispose();
  }

  private write(sequence: KvSequence, token: number): void {
    const { ids, batch } = this.recorded;
    const position = sequence.length - 1;
    this.writeOne(ids, token);
    this.writeOne(batch.positions, position);
    this.writeOne(batch.slots, sequence.slot(position));
    this.writeOne(batch.kvLengths, sequence.length);
    this.writeBlocks(sequence.blockTable);
  }

  private writeOne(input: RecordedForward['ids'], value: number): void {
    this.one[0] = value;
    this.graph.write(input, this.one);
  }

  /** Blocks beyond the sequence's own are never read, so what other sequences left there may stay. */
  private writeBlocks(blocks: readonly number[]): void {
    const table = this.blockTable;
    let changed = false;
    for (let i = 0; i < blocks.length; i++) {
      if (table[i] === blocks[i]) continue;
      table[i] = blocks[i]!;
      changed = true;
    }
    if (changed) this.graph.write(this.recorded.batch.blockTable, table);
  }
}
