import type { Reduction } from '../collectives/index.js';
import type { Tensor } from '../tensor.js';

/**
 * Communication between the devices of a group, recorded in the plan like any op. All ranks record the same calls, with
 * tensors of the same shape, in the same order. A run ends when all ranks have run their plan.
 */
export interface Collective {
  readonly worldSize: number;
  /** 0 … worldSize − 1. */
  readonly rank: number;
  /** Combines x element by element over all ranks. Every rank gets the same bits. */
  allReduce(x: Tensor, by: Reduction): Tensor;
  /** [R, D] on each rank → [worldSize · R, D], in order of rank. */
  allGather(x: Tensor): Tensor;
}
