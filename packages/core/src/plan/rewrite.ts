import type { PlanOp } from './plan.js';
import type { PlanGraph } from './plan-graph.js';

/** Some ops of a plan, and the fused op that replaces them. */
export interface Rewrite {
  /** Indices of the replaced ops, in order. */
  readonly replaced: readonly number[];
  readonly fused: PlanOp;
}

/** The rewrite that begins or ends at the op of an index, if any. */
export type Match = (graph: PlanGraph, index: number) => Rewrite | undefined;
