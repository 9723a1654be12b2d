import { kindOf, type ServedModel, type ServedModels } from '../kinds.js';
import { Changes } from './changes.js';
import { Entry, type PooledModel } from './entry.js';
import { PoolError } from './error.js';
import { bringModel, type Loading } from './load.js';
import { type ModelPoolOptions, type PoolRules, rulesOf } from './options.js';
import type { ModelSource } from './source.js';
import { type ModelWaiter, Waiters } from './waiters.js';

export interface AcquireOptions {
  /** Ends the wait. A load that has begun goes on: a client that asks again finds the model. */
  readonly signal?: AbortSignal | undefined;
}

/** A model in use: it is not unloaded before `release`. */
export interface ModelLease {
  readonly model: ServedModel;
  /** In place of the pool's `idleMs`, once this use has ended. */
  keepFor(idleMs: number): void;
  /** Ends the use. Releasing twice is harmless. */
  release(): void;
}

/**
 * Models that load at their first request. A model without a request is unloaded after `idleMs`; where the
 * limits leave no room for another one, the least recently used ones make way. A model in use is never unloaded.
 *
 * Requests for models that are not loaded wait in order. One model loads at a time. Where models do not fit together they
 * take turns: a model in use takes new requests for as long as its load took, then lets those for other models go first.
 */
export class ModelPool {
  private readonly entries: ReadonlyMap<string, Entry>;
  private readonly rules: PoolRules;
  private readonly changes: Changes;
  private readonly waiters = new Waiters();
  private readonly stop = new AbortController();
  private readonly unloading = new Set<Promise<void>>();
  private loading: Loading | undefined;
  private cancelTimer = (): void => {};

  /** @throws RuntimeError BAD_OPTION, also where the limits leave no room for the smallest model or for the pinned ones */
  constructor(options: ModelPoolOptions) {
    this.rules = rulesOf(options);
    this.changes = new Changes(this.rules.clock);
    const { idleMs } = this.rules;
    this.entries = new Map(
      Object.entries(options.models).map(([name, source]) => [name, new Entry(name, source, idleMs)]),
    );
  }

  /** Loaded models, which the caller disposes: they are never unloaded. */
  static fixed(models: ServedModels): ModelPool {
    const source = (model: ServedModel): ModelSource => ({
      kind: kindOf(model),
      pinned: true,
      load: async () => model,
      unload: () => {},
    });
    const sources = Object.entries(models).map(([name, model]) => [name, source(model)] as const);
    const pool = new ModelPool({ models: Object.fromEntries(sources) });
    for (const [name, model] of Object.entries(models)) pool.entries.get(name)!.given(model);
    return pool;
  }

  /** All models, in the order of the options. */
  get models(): readonly PooledModel[] {
    return [...this.entries.values()];
  }

  /** A model by its name. */
  find(name: string): PooledModel | undefined {
    return this.entries.get(name);
  }

  /** Most bytes of the loaded models together; `Infinity`: no limit. */
  get memoryBytes(): number {
    return this.rules.memoryBytes;
  }

  /** Loads the pinned models. Rejects as `acquire`. */
  async start(options: AcquireOptions = {}): Promise<void> {
    for (const { name, pinned } of this.entries.values()) if (pinned) await this.load(name, options);
  }

  /**
   * A model to use; waits until it is loaded. Rejects with PoolError: LOAD_FAILED, TOO_LARGE, UNKNOWN_MODEL, ABORTED,
   * DISPOSED.
   */
  async acquire(name: string, { signal }: AcquireOptions = {}): Promise<ModelLease> {
    const entry = this.entryOf(name);
    this.assertLive();
    if (signal?.aborted) throw aborted(name);
    return new Promise((resolve, reject) => {
      const leave = () => this.leave(waiter);
      const settled = () => signal?.removeEventListener('abort', leave);
      const waiter: ModelWaiter = {
        entry,
        start: () => {
          settled();
          resolve(this.leaseOf(entry));
        },
        fail: (error) => {
          settled();
          reject(error);
        },
      };
      signal?.addEventListener('abort', leave);
      this.waiters.add(waiter);
      this.advance();
    });
  }

  /** Loads a model by hand. Rejects as `acquire`. */
  async load(name: string, options: AcquireOptions = {}): Promise<void> {
    const lease = await this.acquire(name, options);
    lease.release();
  }

  /**
   * Unloads a model once its running requests have ended; requests that come meanwhile wait, and load it again. Rejects
   * with PoolError UNKNOWN_MODEL, PINNED.
   */
  async unload(name: string): Promise<void> {
    const entry = this.entryOf(name);
    if (entry.pinned)
      throw new PoolError('PINNED', `"${name}" stays loaded: it was chosen when the server started`);
    while (entry.state !== 'unloaded') {
      entry.isLeaving = entry.state === 'loaded';
      if (entry.isIdle) return this.evict(entry);
      await this.changes.next();
    }
  }

  /** Ends all waits and loads, and unloads all models. Disposing twice is harmless. */
  async dispose(): Promise<void> {
    this.stop.abort();
    this.cancelTimer();
    this.waiters.failAll(() => true, disposed());
    this.changes.announce();
    await this.loading?.done;
    for (const entry of this.entries.values()) if (entry.state === 'loaded') void this.evict(entry);
    await Promise.all(this.unloading);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  private entryOf(name: string): Entry {
    const entry = this.entries.get(name);
    if (entry) return entry;
    const known = [...this.entries.keys()].join(', ');
    throw new PoolError('UNKNOWN_MODEL', `there is no model "${name}"; known models: ${known}`);
  }

  private assertLive(): void {
    if (this.stop.signal.aborted) throw disposed();
  }

  /** The caller of a waiter is gone. */
  private leave(waiter: ModelWaiter): void {
    if (!this.waiters.remove(waiter)) return;
    waiter.fail(aborted(waiter.entry.name));
    this.advance();
  }

  private leaseOf(entry: Entry): ModelLease {
    let idleMs = this.rules.idleMs;
    let isOpen = true;
    entry.users++;
    entry.lastUsed = this.rules.clock.now();
    return {
      model: entry.model!,
      keepFor: (ms) => {
        idleMs = ms;
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        this.release(entry, idleMs);
      },
    };
  }

  private release(entry: Entry, idleMs: number): void {
    entry.users--;
    entry.idleMs = idleMs;
    entry.lastUsed = this.rules.clock.now();
    this.advance();
  }

  /** Goes on after every change: starts requests, begins a load, unloads unused models. */
  private advance(): void {
    if (!this.stop.signal.aborted) {
      this.waiters.start((entry) => this.mayStart(entry));
      this.loadNext();
      this.unloadUnused();
    }
    this.changes.announce();
  }

  /** Whether a request for a model begins now. A model that must make way takes no more once its turn is over. */
  private mayStart(entry: Entry): boolean {
    if (entry.state !== 'loaded' || entry.isLeaving) return false;
    return !this.loading?.claims.includes(entry) || this.rules.clock.now() < entry.turnEnds;
  }

  private loadNext(): void {
    const entry = this.loading ? undefined : this.waiters.firstUnloaded;
    if (!entry) return;
    const { rules, changes, unloading } = this;
    const loading = bringModel(entry, {
      ...{ entries: this.models as readonly Entry[], rules, changes, unloading },
      signal: this.stop.signal,
      evict: (each) => this.evict(each),
      advance: () => this.advance(),
    });
    this.loading = loading;
    void loading.done.then((error) => {
      this.loading = undefined;
      if (error) this.waiters.failAll((each) => each === entry, error);
      this.advance();
    });
  }

  private unloadUnused(): void {
    const now = this.rules.clock.now();
    const idle = [...this.entries.values()].filter((each) => each.isIdle && each.waiting === 0);
    for (const entry of idle) if (entry.expires <= now) void this.evict(entry);
    this.cancelTimer();
    const next = Math.min(...idle.filter((each) => each.isIdle).map(({ expires }) => expires));
    if (next < Number.POSITIVE_INFINITY)
      this.cancelTimer = this.rules.clock.after(next - now, () => this.advance());
  }

  /** Unloads a model that nothing uses. */
  private evict(entry: Entry): Promise<void> {
    const model = entry.leave();
    const work = unloaded(entry, model)
      .catch((error: unknown) => this.rules.onError(error, entry.name))
      .finally(() => {
        entry.left();
        this.unloading.delete(work);
        this.advance();
      });
    this.unloading.add(work);
    return work;
  }
}

async function unloaded({ source }: Entry, model: ServedModel): Promise<void> {
  await (source.unload ? source.unload(model) : model.dispose());
}

const aborted = (name: string) => new PoolError('ABORTED', `the wait for the model "${name}" was aborted`);

const disposed = () => new PoolError('DISPOSED', 'the pool of models has been disposed');
