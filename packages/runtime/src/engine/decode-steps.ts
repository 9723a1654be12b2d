import type { Graph, KvCache } from '@quern/core';
import type { LanguageModel } from '@quern/models';
import { RuntimeError } from '../error.js';
import { DecodeGraph, type DecodeRow, describeRows } from './decode-graph.js';
import { runStep } from './run-step.js';
import type { Head, RowOutput } from './step-output.js';

export interface DecodeStepsOptions {
  readonly model: LanguageModel;
  readonly cache: KvCache;
  readonly graph: Graph | undefined;
}

/** Most captured steps that are kept: one for each number of rows that a step may have. */
const mostGraphs = 16;

/**
 * Runs decode steps of any number of rows. With `graph`, the step of so many rows is captured when it is first needed, and
 * of the captured ones those used last are kept; without, each step is recorded, and leaves what JavaScript needs to draw. One step at a time.
 */
export class DecodeSteps {
  /** By head and rows, the one used last at the end. */
  private readonly graphs = new Map<string, DecodeGraph>();
  private ended = false;

  constructor(private readonly options: DecodeStepsOptions) {}

  /** Computes the rows. The next step overwrites the output. */
  async run(
    rows: readonly DecodeRow[],
    head: Head,
    signal: AbortSignal | undefined,
  ): Promise<readonly RowOutput[]> {
    const { model, cache, graph } = this.options;
    if (!graph) {
      const { ids, arrays } = describeRows(cache, rows);
      return runStep(model, cache, ids, arrays, head === 'sampled' ? 'ranked' : head, signal);
    }
    const captured = await this.graphFor(graph, rows, head);
    return captured.run(rows, signal);
  }

  dispose(): void {
    this.ended = true;
    for (const graph of this.graphs.values()) graph.dispose();
  }

  private async graphFor(graph: Graph, rows: readonly DecodeRow[], head: Head): Promise<DecodeGraph> {
    const key = `${rows.length} ${head}`;
    const known = this.graphs.get(key);
    const captured = known ?? (await this.capture(graph, rows, head));
    if (known) this.graphs.delete(key);
    this.graphs.set(key, captured);
    this.dropOldest();
    return captured;
  }

  private async capture(graph: Graph, rows: readonly DecodeRow[], head: Head): Promise<DecodeGraph> {
    const { model, cache } = this.options;
    const captured = await DecodeGraph.capture(graph, model, cache, rows, head);
    if (!this.ended) return captured;
    captured.dispose();
    throw new RuntimeError('DISPOSED', 'the model has been disposed');
  }

  private dropOldest(): void {
    if (this.graphs.size <= mostGraphs) return;
    const [key, oldest] = this.graphs.entries().next().value!;
    this.graphs.delete(key);
    oldest.dispose();
  }
}
