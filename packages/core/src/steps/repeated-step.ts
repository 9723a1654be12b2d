import type { ChainOptions, ChainResult } from '../capability/graph.js';
import type { HostArray } from '../dtype.js';
import { CapturedPart, type PartRun, RecordedRun } from './part-run.js';
import type { StepArrays, StepRecipe } from './step-recipe.js';

/**
 * A step that runs many times with other inputs: captured if the backend can, otherwise recorded for each run. `arrays`
 * are the inputs: change an array, call `write` with its name, then run. One run at a time.
 */
export class RepeatedStep<Arrays extends StepArrays> {
  private constructor(
    readonly arrays: Arrays,
    private readonly parts: readonly PartRun[],
  ) {}

  /**
   * Captures all parts that can be captured; on an error nothing stays behind. Rejects as recording and `Graph.capture`
   * do.
   */
  static async capture<Arrays extends StepArrays>({
    arrays,
    parts,
  }: StepRecipe<Arrays>): Promise<RepeatedStep<Arrays>> {
    const runs: PartRun[] = [];
    try {
      for (const part of parts)
        runs.push(part.graph ? await CapturedPart.capture(part, arrays) : new RecordedRun(part, arrays));
    } catch (error) {
      for (const run of runs) run.dispose();
      throw error;
    }
    return new RepeatedStep(arrays, runs);
  }

  /** A step without capture: for shapes that occur once. */
  static recorded<Arrays extends StepArrays>({ arrays, parts }: StepRecipe<Arrays>): RepeatedStep<Arrays> {
    return new RepeatedStep(
      arrays,
      parts.map((part) => new RecordedRun(part, arrays)),
    );
  }

  /** Whether `chain` can be called. */
  get chains(): boolean {
    const [first] = this.parts;
    return this.parts.length === 1 && first instanceof CapturedPart && first.chains;
  }

  get disposed(): boolean {
    return this.parts.some(({ disposed }) => disposed);
  }

  /** Marks arrays as changed. */
  write(...names: readonly (keyof Arrays & string)[]): void {
    for (const name of names) this.send(name, 0, this.arrays[name]!.length);
  }

  /** Copies values into an array from index `at` on. Only the differing range is written. */
  change(name: keyof Arrays & string, values: ArrayLike<number>, at: number): void {
    const array = this.arrays[name]!;
    let [from, to] = [values.length, 0];
    for (let i = 0; i < values.length; i++) {
      if (array[at + i] === values[i]) continue;
      array[at + i] = values[i]!;
      if (from > i) from = i;
      to = i + 1;
    }
    if (from < to) this.send(name, at + from, at + to);
  }

  /** Runs all parts once. Rejects as `CapturedGraph.replay` and `Step.run` do. */
  run(signal: AbortSignal | undefined): Promise<void> {
    const { parts } = this;
    let running = parts[0]!.run(signal);
    for (let i = 1; i < parts.length; i++)
      running = running.then(() => {
        this.hand(parts[i - 1]!, i);
        return parts[i]!.run(signal);
      });
    return running;
  }

  /** As `CapturedGraph.replayChain`. */
  chain(options: ChainOptions): Promise<ChainResult> {
    return (this.parts[0] as CapturedPart).chain(options);
  }

  /** An output of the last part: the same memory after every replay. */
  read(name: string): HostArray {
    return this.parts[this.parts.length - 1]!.read(name);
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  private send(name: keyof Arrays & string, from: number, to: number): void {
    const array = this.arrays[name]!;
    const values = to - from === array.length ? array : array.subarray(from, to);
    for (const part of this.parts) part.write(name, values, from);
  }

  /** Copies outputs of a part to the parts from `next` on. */
  private hand(part: PartRun, next: number): void {
    for (const name of part.outputs) {
      const array = this.arrays[name];
      if (!array) continue;
      array.set(part.read(name));
      for (const later of this.parts.slice(next)) later.write(name, array, 0);
    }
  }
}
