import {
  type CapturedGraph,
  type Graph,
  type HostArray,
  type KvSequence,
  RunQueue,
  type Tensor,
} from '@quern/core';
import type { Draws } from '../sampling/draws.js';
import type { EngineOptions } from './engine.js';
import { nextTurn } from './next-turn.js';
import { type RecordedForward, type RowsHead, recordForward, rowsOutput } from './record-forward.js';
import { SampledHead } from './sampled-head.js';

/** Most tokens of one chain. */
export const longestChain = 16;

export interface RowChainOptions {
  /** Tokens that end the chain. */
  readonly stops?: Int32Array;
  /** Absent: the likeliest tokens are taken. */
  readonly draws?: Draws | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The step of the last T rows of one sequence, captured once and replayed for every sequence, with the result of every row. A
 * graph of one row that finds its token also chains: the token is the next step's input, position, slot and length grow.
 */
export class RowGraph {
  private readonly turns = new RunQueue();
  private readonly limits = new Int32Array(new SharedArrayBuffer(4)); // [1]

  private constructor(
    private readonly graph: CapturedGraph,
    private readonly recorded: RecordedForward,
    private readonly output: Tensor,
    private readonly sampled: SampledHead | undefined,
    /** As last written. */
    private readonly inputs: Readonly<
      Record<'ids' | 'positions' | 'slots' | 'kvLengths' | 'blockTable', Int32Array>
    >,
  ) {}

  /** `sequence` has the rows appended; what is captured fits any other. */
  static async capture(
    capability: Graph,
    { model, cache }: EngineOptions,
    sequence: KvSequence,
    rows: number,
    head: RowsHead | 'sampled',
  ): Promise<RowGraph> {
    const ids = new Int32Array(rows);
    const lastRows = ids.map((_, row) => row);
    const arrays = { ...cache.describe([{ sequence, rows }]), lastRows };
    const step = model.backend.step();
    const recorded = recordForward(step, model, cache, ids, arrays);
    const sampled =
      head === 'sampled' ? new SampledHead(model.backend, step, recorded.logits, longestChain) : undefined;
    const output = head === 'sampled' ? sampled!.tokens : rowsOutput(model, recorded, head);
    await nextTurn();
    const { positions, slots, kvLengths } = recorded.batch;
    const chain = {
      output,
      feed: recorded.ids,
      advance: [positions, slots, kvLengths, ...(sampled ? [sampled.draws] : [])],
      most: longestChain,
    };
    const graph = await capability.capture(step, rows === 1 && head !== 'logits' ? { chain } : {});
    return new RowGraph(graph, recorded, output, sampled, { ids, ...arrays });
  }

  /** Computes `tokens` [T], which `sequence` has from `start` on, and gives the output to `take` before another replay overwrites it. */
  run<T>(
    sequence: KvSequence,
    start: number,
    tokens: readonly number[],
    take: (output: HostArray) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.turns.run(async () => {
      this.write(sequence, start, tokens);
      await this.graph.replay(signal ? { signal } : {});
      return take(this.graph.read(this.output));
    });
  }

  /**
   * Computes `token` at `start`, then the tokens chosen, up to `count` in all or to one of `stops`; gives those chosen, with
   * `draws` where the graph draws. The slots of all lie in one block.
   */
  chain(
    sequence: KvSequence,
    start: number,
    token: number,
    count: number,
    options: RowChainOptions,
  ): Promise<Int32Array> {
    return this.turns.run(async () => {
      const { limits } = this;
      const { stops, signal } = options;
      this.write(sequence, start, [token]);
      this.sampled?.write(this.graph, [options], count);
      limits[0] = count;
      const found = await this.graph.replayChain({
        limits,
        ...(stops && { stops }),
        ...(signal && { signal }),
      });
      return found.tokens;
    });
  }

  dispose(): void {
    this.graph.dispose();
  }

  private write(sequence: KvSequence, start: number, tokens: readonly number[]): void {
    const { ids, positions, slots, kvLengths } = this.inputs;
    for (let row = 0; row < tokens.length; row++) {
      ids[row] = tokens[row]!;
      positions[row] = start + row;
      slots[row] = sequence.slot(start + row);
    }
    kvLengths[0] = start + tokens.length;
    const { batch } = this.recorded;
    this.graph.write(this.recorded.ids, ids);
    this.graph.write(batch.positions, positions);
    this.graph.write(batch.slots, slots);
    this.graph.write(batch.kvLengths, kvLengths);
    this.writeBlocks(sequence.blockTable);
  }

  /** Blocks beyond the sequence's own are never read, so what other sequences left there may stay. */
  private writeBlocks(blocks: readonly number[]): void {
    const { blockTable } = this.inputs;
    let changed = false;
    for (let i = 0; i < blocks.length; i++) {
      if (blockTable[i] === blocks[i]) continue;
      blockTable[i] = blocks[i]!;
      changed = true;
    }
    if (changed) this.graph.write(this.recorded.batch.blockTable, blockTable);
  }
}
