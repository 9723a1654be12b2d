import type { PlanOp } from './plan.js';
import type { PlanGraph } from './plan-graph.js';

/** Some ops of a plan and the one fused op that stands for them. */
export interface Rewrite {
  /** Indices of the ops replaced, in order. */
  readonly replaced: readonly number[];
  readonly fused: PlanOp;
}

/** The rewrite that begins at, or ends with, the op at an index, if there is one. */
export type Match = (graph: PlanGraph, index: number) => Rewrite | undefined;
