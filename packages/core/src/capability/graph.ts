import type { HostArray } from '../dtype.js';
import type { Step } from '../step.js';
import type { Tensor } from '../tensor.js';

/** A step kept by the device, to be run again with other inputs. Same inputs give the same bits as the step would. */
export interface CapturedGraph {
  /**
   * Replaces an input's values; it keeps them until the next write. Throws BAD_SHAPE or BAD_DTYPE where they do not fit.
   * Between replays only: a replay that is running may see the old values, the new ones, or some of each.
   */
  write(input: Tensor, values: HostArray): void;
  /**
   * Runs once with the present inputs. Rejects with ABORTED, OUT_OF_RANGE, or DISPOSED when a weight or buffer that
   * the graph holds has been freed.
   */
  replay(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** The values of a kept tensor after the last replay: a view that the next replay overwrites. */
  read(tensor: Tensor): HostArray;
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Capture and replay: a decode step costs no recording and one call. */
export interface Graph {
  /**
   * Takes a recorded step that has not run, with its leaves and the tensors it was told to keep. The step is finished by it.
   * Throws STEP_FINISHED, DISPOSED, OUT_OF_MEMORY.
   */
  capture(step: Step): CapturedGraph;
}
