import type { CapturedGraph, Graph, KvSequence } from '@quern/core';
import { nextTurn } from '../engine/next-turn.js';
import type { SpeechSession } from './session.js';

type Recorded = ReturnType<SpeechSession['record']>;

/** The step that appends one token to each of S texts, captured once and replayed for any. */
export class StepGraph {
  private constructor(
    private readonly graph: CapturedGraph,
    private readonly recorded: Recorded,
    private readonly session: SpeechSession,
  ) {}

  static async capture(
    session: SpeechSession,
    capability: Graph,
    sequences: readonly KvSequence[],
  ): Promise<StepGraph> {
    const step = session.model.backend.step();
    const recorded = session.record(
      step,
      sequences,
      sequences.map(() => 0),
    );
    await nextTurn();
    return new StepGraph(await capability.capture(step), recorded, session);
  }

  /** The sequences have the tokens appended. Gives probabilities [S, V]: a view until the next run. */
  async run(
    sequences: readonly KvSequence[],
    tokens: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const arrays = this.session.caches.text.describe(sequences.map((sequence) => ({ sequence, rows: 1 })));
    const { text } = this.recorded.batch;
    this.graph.write(this.recorded.ids, Int32Array.from(tokens));
    for (const name of ['positions', 'slots', 'kvLengths', 'blockTable'] as const)
      this.graph.write(text[name], arrays[name]);
    await this.graph.replay(signal ? { signal } : {});
    return this.graph.read(this.recorded.probabilities) as Float32Array;
  }

  dispose(): void {
    this.graph.dispose();
  }
}
