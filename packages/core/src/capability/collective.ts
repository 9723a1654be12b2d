import type { Tensor } from '../tensor.js';

/** Communication between the devices of a group, recorded in the plan like any op. All ranks record the same calls in the same order. */
export interface Collective {
  readonly worldSize: number;
  /** 0 … worldSize − 1. */
  readonly rank: number;
  /** Element by element over all ranks; the same shape on each. Every rank gets the same bits. */
  allReduce(x: Tensor, by: 'sum' | 'max' | 'min'): Tensor;
  /** [R, D] on each rank → [worldSize · R, D], in order of rank. */
  allGather(x: Tensor): Tensor;
  /** The tensor of rank `from`, on every rank. */
  broadcast(x: Tensor, from: number): Tensor;
}
