import type { Backend, CapturedGraph, Step, Tensor } from '@quern/core';
import type { Draws } from '../sampling/draws.js';

/** Takes the likeliest token. */
const greedy = Float32Array.of(0, 0, 1, Number.NEGATIVE_INFINITY);

interface Row {
  readonly draws?: Draws | undefined;
}

/** The op `sample` at the end of a captured step of S rows, each with random numbers for some replays. */
export class SampledHead {
  /** [S] */
  readonly tokens: Tensor;
  /** [S]: which of the random numbers each row takes; to grow by one before the next replay of a chain. */
  readonly draws: Tensor;
  private readonly inputs: Readonly<Record<'settings' | 'random', Tensor>>;
  /** As last written. */
  private readonly settings: Float32Array; // [S, 4]
  private readonly words: Int32Array; // [S · replays, 2]
  private readonly first: Int32Array; // [S]

  /** `logits`: [S, V]. `replays`: most of one chain. */
  constructor(
    backend: Backend,
    step: Step,
    logits: Tensor,
    private readonly replays: number,
  ) {
    const S = logits.shape[0]!;
    this.settings = Float32Array.from({ length: 4 * S }, (_, i) => greedy[i % 4]!);
    this.words = new Int32Array(2 * S * replays);
    this.first = Int32Array.from({ length: S }, (_, s) => s * replays);
    const settings = step.input(this.settings, [S, 4]);
    const random = step.input(this.words, [S * replays, 2]);
    this.inputs = { settings, random };
    this.draws = step.input(this.first);
    this.tokens = backend.sample(logits, settings, random, this.draws);
  }

  /** Writes what the rows draw with in the next `count` replays; a row without draws takes the likeliest token. */
  write(graph: CapturedGraph, rows: readonly Row[], count: number): void {
    let changed = false;
    for (let s = 0; s < rows.length; s++) {
      const { draws } = rows[s]!;
      if (this.setSettings(s, draws?.settings ?? greedy)) changed = true;
      draws?.peek(this.words, 2 * this.first[s]!, count);
    }
    if (changed) graph.write(this.inputs.settings, this.settings);
    graph.write(this.inputs.random, this.words);
    if (this.replays > 1) graph.write(this.draws, this.first);
  }

  /** Whether anything changed. */
  private setSettings(row: number, settings: Float32Array): boolean {
    let changed = false;
    for (let i = 0; i < settings.length; i++) {
      if (this.settings[4 * row + i] === settings[i]) continue;
      this.settings[4 * row + i] = settings[i]!;
      changed = true;
    }
    return changed;
  }
}
