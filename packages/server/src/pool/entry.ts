import type { ModelKindName, ServedModel } from '../kinds.js';
import { bytesOf, factsOf } from './facts.js';
import type { ModelFacts, ModelSource } from './source.js';

/** 'unloaded' as soon as no request may begin; the memory may be freed a little later. */
export type ModelState = 'unloaded' | 'loading' | 'loaded';

/** Sums since the pool was made, and what is there now. */
export interface ModelCounts {
  readonly loads: number;
  readonly failures: number;
  readonly unloads: number;
  /** Requests that use the model, and that wait for it. */
  readonly running: number;
  readonly waiting: number;
  /** Memory that the model takes; 0 while it is not loaded. */
  readonly bytes: number;
}

/** A model of a pool, as others see it. */
export interface PooledModel {
  readonly name: string;
  readonly kind: ModelKindName;
  readonly state: ModelState;
  readonly pinned: boolean;
  /** The loaded model. Use it between `acquire` and `release` alone: it may be disposed at any other time. */
  readonly model: ServedModel | undefined;
  readonly facts: ModelFacts;
  /** Names of its adapters. */
  readonly adapters: readonly string[];
  readonly counts: ModelCounts;
  /** Why the last load failed; undefined after one that did not. */
  readonly failure: unknown;
  /** When the model will be unloaded if no request comes, in milliseconds since 1970; `Infinity`: never. */
  readonly expires: number;
}

/** The state of a model of a pool. The scheduler alone changes it. */
export class Entry implements PooledModel {
  readonly kind: ModelKindName;
  readonly pinned: boolean;
  state: ModelState = 'unloaded';
  model: ServedModel | undefined;
  failure: unknown;
  /** Memory taken: from the begin of a load to the end of the unloading. */
  bytes = 0;
  /** Requests that use the model. */
  users = 0;
  waiting = 0;
  loads = 0;
  failures = 0;
  unloads = 0;
  loadedAt = 0;
  lastUsed = 0;
  /** New requests may keep others waiting until then. */
  turnEnds = 0;
  /** To be unloaded by hand: takes no more requests. */
  isLeaving = false;
  /** Milliseconds that the model stays without a request. */
  idleMs: number;
  private lastFacts: ModelFacts;

  constructor(
    readonly name: string,
    readonly source: ModelSource,
    idleMs: number,
  ) {
    this.kind = source.kind;
    this.pinned = source.pinned ?? false;
    this.idleMs = idleMs;
    this.lastFacts = source.facts ?? {};
  }

  get facts(): ModelFacts {
    return this.model ? factsOf(this.model) : this.lastFacts;
  }

  get adapters(): readonly string[] {
    const own = this.model && 'adapters' in this.model ? this.model.adapters.map(({ name }) => name) : [];
    return [...new Set([...(this.source.adapters ?? []), ...own])];
  }

  get counts(): ModelCounts {
    const { loads, failures, unloads, users: running, waiting, bytes } = this;
    return { loads, failures, unloads, running, waiting, bytes };
  }

  get isIdle(): boolean {
    return this.state === 'loaded' && this.users === 0;
  }

  get expires(): number {
    return this.pinned ? Number.POSITIVE_INFINITY : this.lastUsed + this.idleMs;
  }

  /** The model is there. @param turnMs how long its requests may keep those for other models waiting */
  arrived(model: ServedModel, now: number, turnMs: number): void {
    this.model = model;
    this.state = 'loaded';
    this.failure = undefined;
    this.loads++;
    this.loadedAt = now;
    this.lastUsed = now;
    this.turnEnds = now + turnMs;
  }

  /** The model was loaded by others. */
  given(model: ServedModel): void {
    this.model = model;
    this.state = 'loaded';
    this.bytes = bytesOf(model);
  }

  failed(error: unknown): void {
    this.failure = error;
    this.failures++;
    this.state = 'unloaded';
    this.bytes = 0;
  }

  /** From now on no request gets the model. */
  leave(): ServedModel {
    const model = this.model!;
    this.lastFacts = factsOf(model);
    this.model = undefined;
    this.state = 'unloaded';
    this.isLeaving = false;
    return model;
  }

  left(): void {
    this.bytes = 0;
    this.unloads++;
  }
}
