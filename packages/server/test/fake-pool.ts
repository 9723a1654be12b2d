// A pool whose clock and loads the test holds: no test waits for a time.

import { ModelPool, type ModelPoolOptions, type ModelSource } from '../src/index.js';
import type { ServedModel } from '../src/kinds.js';
import type { Clock } from '../src/pool/clock.js';

/** A clock that the test moves. */
export class FakeClock implements Clock {
  private time = 1_000_000;
  private timers: { readonly at: number; readonly run: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.time + ms, run };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((each) => each !== timer);
    };
  }

  /** Moves the time, and lets everything happen that follows from it. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await settled();
    for (;;) {
      const next = [...this.timers].sort((a, b) => a.at - b.at).find(({ at }) => at <= end);
      if (!next) break;
      this.timers = this.timers.filter((each) => each !== next);
      this.time = Math.max(this.time, next.at);
      next.run();
      await settled();
    }
    this.time = end;
    await settled();
  }
}

/** Lets all promises that can settle do so. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** A model that does nothing. */
export interface FakeModel {
  readonly name: string;
  isDisposed: boolean;
}

/** A source whose loads and unloads the test ends. */
export class FakeSource implements ModelSource {
  readonly kind = 'generation';
  /** What happened, in order. */
  static log: string[] = [];
  loads = 0;
  signal: AbortSignal | undefined;
  private pending: { resolve(model: ServedModel): void; reject(error: unknown): void } | undefined;

  constructor(
    readonly name: string,
    readonly bytes: number,
    readonly isSlow: boolean,
    readonly pinned = false,
  ) {}

  load(signal: AbortSignal): Promise<ServedModel> {
    this.loads++;
    this.signal = signal;
    FakeSource.log.push(`load ${this.name}`);
    if (!this.isSlow) return Promise.resolve(this.model());
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject };
    });
  }

  unload(): void {
    FakeSource.log.push(`unload ${this.name}`);
  }

  /** The load under way ends. */
  async arrive(): Promise<void> {
    this.take().resolve(this.model());
    await settled();
  }

  async fail(error: Error): Promise<void> {
    this.take().reject(error);
    await settled();
  }

  private take() {
    const { pending } = this;
    if (!pending) throw new Error(`${this.name} does not load`);
    this.pending = undefined;
    return pending;
  }

  private model(): ServedModel {
    const parts: Partial<Record<string, unknown>> = { generate: () => {}, embed: undefined, adapters: [] };
    return Object.assign(Object.create(null), parts) as ServedModel;
  }
}

/** A pool of models of these sizes, and their sources. @param slow loads wait for `arrive` */
export function fakePool<Name extends string>(
  sizes: Readonly<Record<Name, number>>,
  options: Partial<ModelPoolOptions> = {},
  slow = true,
) {
  FakeSource.log = [];
  const clock = new FakeClock();
  const of = Object.fromEntries(
    Object.entries<number>(sizes).map(([name, bytes]) => [name, new FakeSource(name, bytes, slow)]),
  ) as Record<Name, FakeSource>;
  const pool = new ModelPool({ models: of, clock, ...options });
  return { pool, clock, of };
}
