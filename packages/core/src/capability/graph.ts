import type { HostArray } from '../dtype.js';
import type { Step } from '../step.js';
import type { Tensor } from '../tensor.js';

/** How each replay of a chain follows from the one before it. All tensors are i32. */
export interface ChainRule {
  /** A kept tensor: its words after each replay are the results of a chain. */
  readonly output: Tensor;
  /** The input, of as many words, that takes the output's before the next replay. */
  readonly feed: Tensor;
  /** Inputs whose words all grow by one before the next replay. */
  readonly advance: readonly Tensor[];
  /** Most replays of one chain. */
  readonly most: number;
}

export interface ChainOptions {
  /** Replays, 1 to the rule's `most`. */
  readonly count: number;
  /** The chain ends with the replay that leaves any of these among its words. */
  readonly stops?: Int32Array;
  readonly signal?: AbortSignal;
}

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
  /**
   * Replays up to `count` times, by the rule that the graph was captured with: the same as that many replays with writes
   * between them, but the device need not wake JavaScript for each. Gives the words of every replay, one after the other.
   * Inputs stay as the last replay found them. Rejects as `replay` does, then without results, and with BAD_ARGUMENT for a
   * count out of range or a graph without a rule.
   */
  replayChain(options: ChainOptions): Promise<Int32Array>;
  /**
   * The values of a kept tensor after the last replay: a view that the next replay overwrites. Its buffer is that of all that the graph
   * keeps: give away copies (`slice()`), since a graph whose buffer has been transferred throws BAD_ARGUMENT.
   */
  read(tensor: Tensor): HostArray;
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Capture and replay: a decode step costs no recording and one call. */
export interface Graph {
  /**
   * Takes a recorded step that has not run, with its leaves and the tensors it was told to keep. The step is finished by it.
   * With a rule, the graph can replay in chains. Throws STEP_FINISHED, DISPOSED, OUT_OF_MEMORY; for a rule that does not
   * fit the step BAD_DTYPE, BAD_SHAPE, BAD_ARGUMENT, NOT_KEPT, WRONG_STEP.
   */
  capture(step: Step, options?: { readonly chain?: ChainRule }): CapturedGraph;
}
