import type { KvDtype } from './kv/kv-cache.js';
import type { Precision } from './precision.js';

/** A run of consecutive layers and the backend that computes them. */
export interface PlannedRange {
  readonly backend: string;
  readonly firstLayer: number;
  /** Exclusive. */
  readonly endLayer: number;
  /** How the backend rounds. Absent: its profile does not tell. */
  readonly precision?: Precision;
  readonly memory: PlannedMemory;
}

/** Bytes. */
export interface PlannedMemory {
  readonly weights: number;
  readonly cache: number;
  readonly activations: number;
  /** Free memory at planning time. */
  readonly available: number;
}

/** Decisions of the planner, made before any allocation, and their reasons. Sizes in bytes, rates per second. */
export interface BackendPlan {
  /** In layer order, without gaps. One range if one backend computes the model. */
  readonly ranges: readonly PlannedRange[];
  /** Most tokens of one sequence. */
  readonly context: number;
  /** Tokens the cache can hold, of all sequences together. At least `context`. */
  readonly room: number;
  readonly cacheDtype: KvDtype;
  /** Sum over all ranges. */
  readonly memory: PlannedMemory;
  /** Estimated from the measured profile: bytes read and operations per token. */
  readonly estimate: { readonly prefillTokensPerSecond: number; readonly decodeTokensPerSecond: number };
  /** One sentence per choice and per rejection; the last one is about the context. */
  readonly reasons: readonly string[];
}
