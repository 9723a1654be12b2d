import type { DType, HostArray } from './dtype.js';
import type { Tensor } from './tensor.js';

/** Arrays that can become inputs: i32, f32, or (with a dtype) 16-bit floats as their bit patterns. */
export type InputArray = Int32Array | Float32Array | Uint16Array;

/** Bytes that a step takes while it runs, beside weights, buffers and what a driver needs for itself. */
export interface StepMemory {
  /** Temporaries, as core places them. */
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
}

/**
 * Work recorded for one run. Inputs are made in it, ops record into it, and `run` hands the whole plan to the backend
 * at once. A step runs once; to run it again, capture it (`backend.graph`). Two steps can record at the same time.
 */
export interface Step {
  readonly backend: string;
  /** A tensor with these values (copied). The shape defaults to one dimension; the dtype follows the array. */
  input(values: InputArray, shape?: readonly number[], dtype?: DType): Tensor;
  /** Makes a tensor readable after the run. Tensors that no op uses are kept anyway. */
  keep(tensor: Tensor): void;
  /** What a run of everything recorded so far would take; it may go on recording. Needs no device: see `rehearse`. */
  memory(): StepMemory;
  /**
   * Computes everything recorded, off the JS thread. Rejects with ABORTED (within one op of the signal), OUT_OF_RANGE,
   * OUT_OF_MEMORY, DISPOSED, STEP_FINISHED.
   */
  run(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** The values of a tensor; runs the step first if it has not run. Throws NOT_KEPT for a tensor the plan did not keep. */
  read(tensor: Tensor): Promise<HostArray>;
  /** Forgets the step and its tensors. */
  dispose(): void;
  [Symbol.dispose](): void;
}
