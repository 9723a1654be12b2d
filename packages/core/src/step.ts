import type { DType, HostArray } from './dtype.js';
import type { Tensor } from './tensor.js';

/** Arrays for inputs: i32, f32, or (with a dtype) 16-bit floats as bit patterns. */
export type InputArray = Int32Array | Float32Array | Uint16Array;

/** Bytes of a step while it runs, without weights, buffers and the driver's own memory. */
export interface StepMemory {
  /** Temporaries, as placed by core. */
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
}

/**
 * Work recorded for one run. Make inputs in it and record ops into it; `run` passes the whole plan to the backend at
 * once. A step runs once; to run it again, capture it (`backend.graph`). Two steps can record at the same time.
 */
export interface Step {
  readonly backend: string;
  /** A tensor with these values (copied). The shape defaults to one dimension; the dtype follows the array. */
  input(values: InputArray, shape?: readonly number[], dtype?: DType): Tensor;
  /** Makes a tensor readable after the run. Tensors that no op uses are kept anyway. */
  keep(tensor: Tensor): void;
  /** Memory of a run of the ops recorded so far. Recording may continue. Needs no device: see `rehearse`. */
  memory(): StepMemory;
  /**
   * Computes all recorded ops, off the JS thread. Rejects with ABORTED (within one op of the signal), OUT_OF_RANGE,
   * OUT_OF_MEMORY, DISPOSED, STEP_FINISHED.
   */
  run(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** The values of a tensor. Runs the step first if needed. Throws NOT_KEPT for a tensor that the plan did not keep. */
  read(tensor: Tensor): Promise<HostArray>;
  /** Frees the step and its tensors. */
  dispose(): void;
  [Symbol.dispose](): void;
}
