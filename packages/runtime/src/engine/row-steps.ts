import type { HostArray, KvSequence } from '@quern/core';
import { type Draws, noToken } from '../sampling/draws.js';
import { appending } from './appending.js';
import type { EngineOptions } from './engine.js';
import { nextTurn } from './next-turn.js';
import { type RowsHead, recordForward, rowsOutput } from './record-forward.js';
import { longestChain, type RowChainOptions, RowGraph } from './row-graph.js';

const noStops = new Int32Array(0);

/** Steps of a few rows of one sequence, each with its result, and chains of steps. Rejections leave the sequence as it was. */
export class RowSteps {
  private readonly graphs = new Map<string, Promise<RowGraph>>();

  constructor(private readonly options: EngineOptions) {}

  /** Appends `tokens` [T] and computes them. `take` gets what follows each: the likeliest token [T], or logits [T · V]. */
  run<T>(
    sequence: KvSequence,
    tokens: readonly number[],
    head: RowsHead,
    take: (output: HostArray) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const start = sequence.length;
    return appending(sequence, tokens.length, async () => {
      const graph = this.graphFor(sequence, tokens.length, head);
      if (graph) return (await graph).run(sequence, start, tokens, take, signal);
      return take(await this.record(sequence, tokens, head, signal));
    });
  }

  /** Whether chains may have `draws`. */
  get canDraw(): boolean {
    return this.options.graph !== undefined;
  }

  /**
   * Appends `token` and the tokens that follow, the likeliest or those drawn, without waking JavaScript between them: up to
   * `count` steps, or to the one that finds a token of `stops`. Gives the tokens found, at least one, the last of which has
   * not been appended. Rejects with BAD_LOGITS where no token can be drawn.
   */
  async chain(
    sequence: KvSequence,
    token: number,
    count: number,
    options: RowChainOptions,
  ): Promise<readonly number[]> {
    const { draws, stops = noStops, signal } = options;
    if (!this.options.graph) return this.run(sequence, [token], 'argmax', (output) => [output[0]!], signal);
    const start = sequence.length;
    const { blockSize } = this.options.cache;
    const steps = Math.min(count, longestChain, blockSize - (start % blockSize)); // one block: slots grow with positions
    const found = await appending(sequence, steps, async () => {
      const graph = await this.graphFor(sequence, 1, draws ? 'sampled' : 'argmax')!;
      if (!draws) return [...(await graph.chain(sequence, start, token, steps, options))];
      const drawing = { ...options, stops: Int32Array.of(...stops, noToken) };
      return taken(await graph.chain(sequence, start, token, steps, drawing), draws);
    });
    sequence.truncate(start + found.length);
    return found;
  }

  dispose(): void {
    for (const graph of this.graphs.values())
      graph.then(
        (captured) => captured.dispose(),
        () => {}, // whoever waited for it has the error
      );
  }

  /** The captured step, made when it is first needed; undefined where the backend captures none. */
  private graphFor(
    sequence: KvSequence,
    rows: number,
    head: RowsHead | 'sampled',
  ): Promise<RowGraph> | undefined {
    const { graph } = this.options;
    const key = `${head} ${rows}`;
    const known = this.graphs.get(key);
    if (known || !graph) return known;
    const captured = RowGraph.capture(graph, this.options, sequence, rows, head);
    this.graphs.set(key, captured);
    captured.catch(() => this.graphs.delete(key));
    return captured;
  }

  private async record(
    sequence: KvSequence,
    tokens: readonly number[],
    head: RowsHead,
    signal: AbortSignal | undefined,
  ): Promise<HostArray> {
    const { model, cache } = this.options;
    const step = model.backend.step();
    const ids = Int32Array.from(tokens);
    const lastRows = ids.map((_, row) => row);
    const arrays = { ...cache.describe([{ sequence, rows: tokens.length }]), lastRows };
    const output = rowsOutput(model, recordForward(step, model, cache, ids, arrays), head);
    await nextTurn();
    await step.run(signal ? { signal } : {});
    return step.read(output);
  }
}

/** The tokens that were drawn. Where the first draw found none that is an error; where a later one did, it is the next chain's. */
function taken(found: Int32Array, draws: Draws): readonly number[] {
  const tokens = found.length > 1 && found.at(-1) === noToken ? found.subarray(0, -1) : found;
  return Array.from(tokens, (token) => draws.take(token));
}
