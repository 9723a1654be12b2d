import { BackendError } from '../error.js';
import { RunQueue } from '../run-queue.js';
import { RepeatedStep } from './repeated-step.js';
import { canCapture, type StepArrays, type StepRecipe } from './step-recipe.js';

export interface StepCacheOptions {
  /** Maximum captured steps. */
  readonly steps: number;
  /** Maximum rows of all captured steps together: their activations stay in memory. */
  readonly rows: number;
  /** Maximum captured steps per key, for concurrent callers. Absent: 1, callers take turns. */
  readonly copies?: number;
  /** A step is captured at the first use of its key, or (for keys that may never come again) at the second. */
  readonly capture?: 'first' | 'second';
}

/** Identity of a step in a cache. */
export interface StepKey {
  /** Two steps with equal keys can share one captured step. */
  readonly key: string;
  /** Rows of its activations. */
  readonly rows: number;
  /** For this use, instead of `StepCacheOptions.capture`. */
  readonly capture?: StepCacheOptions['capture'];
}

/** Maximum remembered keys for `capture: 'second'`. */
const mostSeen = 256;

/** A captured step and its callers. */
interface Kept<Arrays extends StepArrays> {
  readonly name: string;
  readonly rows: number;
  readonly turns: RunQueue;
  readonly capturing: Promise<RepeatedStep<Arrays>>;
  step: RepeatedStep<Arrays> | undefined;
  /** Calls that run the step or wait for it. */
  users: number;
  evicted: boolean;
}

/**
 * Captured steps by key. A step is captured once, however many callers ask meanwhile. One caller at a time uses it. The
 * most recently used steps are kept. An evicted step is disposed once no caller uses it.
 */
export class StepCache<Arrays extends StepArrays> {
  /** By key and copy number; the most recently used last. */
  private readonly kept = new Map<string, Kept<Arrays>>();
  /** Most recent last. */
  private readonly seen = new Set<string>();
  private rows = 0;
  private ended = false;

  constructor(private readonly options: StepCacheOptions) {}

  /**
   * Calls `act` with the step of a key. `act` may write, run and read the step until its promise settles. The step is
   * recorded, not captured, if no backend captures or the key is too rare. Rejects with DISPOSED, and as capturing and
   * `act` do.
   */
  async use<T>(
    key: StepKey,
    recipe: () => StepRecipe<Arrays>,
    act: (step: RepeatedStep<Arrays>) => Promise<T>,
  ): Promise<T> {
    if (this.ended) throw disposed();
    const kept = this.find(key, recipe);
    if (kept instanceof RepeatedStep) return act(kept);
    kept.users++;
    try {
      const step = kept.step ?? (await kept.capturing);
      return await kept.turns.run(() => act(step));
    } finally {
      kept.users--;
      this.leave(kept);
    }
  }

  /** Frees all steps; running steps when they end. Disposing twice is harmless. */
  dispose(): void {
    this.ended = true;
    for (const { step } of this.kept.values()) step?.dispose();
    this.kept.clear();
  }

  /** The step for a caller: an unused step, a new copy, or the step with the fewest callers. */
  private find(key: StepKey, recipe: () => StepRecipe<Arrays>): Kept<Arrays> | RepeatedStep<Arrays> {
    const { copies = 1 } = this.options;
    let least: Kept<Arrays> | undefined;
    for (let copy = 0; copy < copies; copy++) {
      const kept = this.kept.get(`${key.key} #${copy}`);
      if (!kept) return this.make(key, copy, recipe());
      if (!least || kept.users < least.users) least = kept;
      if (kept.users === 0) break;
    }
    this.kept.delete(least!.name);
    this.kept.set(least!.name, least!);
    return least!;
  }

  private make(
    { key, rows, capture = this.options.capture }: StepKey,
    copy: number,
    recipe: StepRecipe<Arrays>,
  ): Kept<Arrays> | RepeatedStep<Arrays> {
    if (!canCapture(recipe) || !this.isWorthCapturing(key, capture)) return RepeatedStep.recorded(recipe);
    const name = `${key} #${copy}`;
    const kept: Kept<Arrays> = {
      name,
      rows,
      turns: new RunQueue(),
      capturing: RepeatedStep.capture(recipe).then((step) => this.captured(kept, step)),
      step: undefined,
      users: 0,
      evicted: false,
    };
    kept.capturing.catch(() => this.evict(kept)); // the callers get the error
    this.kept.set(name, kept);
    this.rows += rows;
    this.makeRoom();
    return kept;
  }

  private captured(kept: Kept<Arrays>, step: RepeatedStep<Arrays>): RepeatedStep<Arrays> {
    if (this.ended) {
      step.dispose();
      throw disposed();
    }
    kept.step = step;
    return step;
  }

  private isWorthCapturing(key: string, capture: StepKey['capture']): boolean {
    if (capture !== 'second') return true;
    const again = this.seen.delete(key);
    this.seen.add(key);
    if (this.seen.size > mostSeen) this.seen.delete(this.seen.values().next().value!);
    return again;
  }

  /** Evicts the least recently used steps, but never the last step. */
  private makeRoom(): void {
    for (const oldest of this.kept.values()) {
      const fits = this.kept.size <= this.options.steps && this.rows <= this.options.rows;
      if (fits || this.kept.size === 1) return;
      this.evict(oldest);
    }
  }

  private evict(kept: Kept<Arrays>): void {
    if (kept.evicted) return;
    kept.evicted = true;
    this.rows -= kept.rows;
    this.kept.delete(kept.name);
    this.leave(kept);
  }

  /** Called after a caller has finished with a step. */
  private leave(kept: Kept<Arrays>): void {
    if (kept.users > 0) return;
    if (kept.step?.disposed) this.evict(kept);
    if (kept.evicted) kept.step?.dispose();
  }
}

const disposed = () => new BackendError('DISPOSED', 'the captured steps have been disposed with their model');
