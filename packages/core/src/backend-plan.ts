import type { KvDtype } from './kv/kv-cache.js';

/** A run of consecutive layers and the backend that computes them. */
export interface PlannedRange {
  readonly backend: string;
  readonly firstLayer: number;
  /** Exclusive. */
  readonly endLayer: number;
  readonly memory: PlannedMemory;
}

/** Bytes. */
export interface PlannedMemory {
  readonly weights: number;
  readonly cache: number;
  readonly activations: number;
  /** What was free when the plan was made. */
  readonly available: number;
}

/** What the planner decided before anything was allocated, and why. Sizes in bytes, rates per second. */
export interface BackendPlan {
  /** In the order of the layers, one after the other; one range where one backend computes the model. */
  readonly ranges: readonly PlannedRange[];
  /** Tokens of context the plan can hold. */
  readonly context: number;
  readonly cacheDtype: KvDtype;
  /** Of all ranges together. */
  readonly memory: PlannedMemory;
  /** From the measured profile: bytes read and operations done per token. */
  readonly estimate: { readonly prefillTokensPerSecond: number; readonly decodeTokensPerSecond: number };
  /** One sentence for each choice and each rejection. */
  readonly reasons: readonly string[];
}
