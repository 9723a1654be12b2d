import type { HostArray } from '../dtype.js';
import type { Step } from '../step.js';
import type { Tensor } from '../tensor.js';

/** Where a row writes into its cache: slot = blockTable[s][position / blockSize] · blockSize + position % blockSize. */
export interface SlotRule {
  /** The input that takes the slots, [S]. */
  readonly slots: Tensor;
  /** The input that has the positions, [S]; usually one of `advance`. */
  readonly positions: Tensor;
  /** [S, B], with a block for every position that the chain can reach. */
  readonly blockTable: Tensor;
  readonly blockSize: number;
}

/** How each replay of a chain of S rows follows from the one before it. All tensors are i32. */
export interface ChainRule {
  /** A kept tensor [S]: the token that each row finds in a replay. */
  readonly output: Tensor;
  /** The input [S] that takes the tokens before the next replay. */
  readonly feed: Tensor;
  /** Inputs [S], whose words grow by one before the next replay: positions, lengths. */
  readonly advance: readonly Tensor[];
  readonly slots?: SlotRule;
  /** Most replays of one chain. */
  readonly most: number;
}

export interface ChainOptions {
  /**
   * [S], in shared memory: most tokens of each row, 1 to the rule's `most`. One may be lowered while the chain runs; 0 ends
   * the row with the replay that runs.
   */
  readonly limits: Int32Array;
  /** A row that finds one of these tokens ends with it. */
  readonly stops?: Int32Array;
  readonly signal?: AbortSignal;
}

/** What a chain of n replays found. */
export interface ChainResult {
  /** [n, S]. A row that has ended repeats its last step: only its first `counts[row]` tokens count. */
  readonly tokens: Int32Array;
  /** [S] */
  readonly counts: Int32Array;
}

/** A step kept by the device, to be run again with other inputs. Same inputs give the same bits as the step would. */
export interface CapturedGraph {
  /**
   * Replaces an input's values, from element `at` on; it keeps them until the next write. A replay computes with the inputs
   * as they are when it is called, so the next may be written while it waits or runs. Throws BAD_SHAPE, BAD_DTYPE or
   * BAD_ARGUMENT where the values do not fit.
   */
  write(input: Tensor, values: HostArray, at?: number): void;
  /**
   * Runs once with the present inputs. Several may be asked for before the first has ended; they end in their order. Rejects
   * with ABORTED, OUT_OF_RANGE, or DISPOSED when a weight or buffer that the graph holds has been freed.
   */
  replay(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Replays by the rule that the graph was captured with, until every row has ended: the same as that many replays with writes
   * between them, but the device need not wake JavaScript for each. Inputs stay as the last replay found them. Rejects as
   * `replay` does, then without results and with the rule's inputs in any state, and with BAD_ARGUMENT for limits that do not
   * fit or a graph without a rule.
   */
  replayChain(options: ChainOptions): Promise<ChainResult>;
  /**
   * The values of a kept tensor after the replay that ended last: a view that the next one overwrites; where several are under
   * way, look at it before the event loop goes on. Its buffer is that of all that the graph keeps: give away copies
   * (`slice()`), since a graph whose buffer has been transferred throws BAD_ARGUMENT.
   */
  read(tensor: Tensor): HostArray;
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Capture and replay: a decode step costs no recording and one call. */
export interface Graph {
  /**
   * Takes a recorded step that has not run, with its leaves and the tensors it was told to keep. The step is finished by the
   * call; the plan is laid out in turns of the event loop. With a rule, the graph can replay in chains. Rejects with
   * STEP_FINISHED, DISPOSED, OUT_OF_MEMORY; for a rule that does not fit the step BAD_DTYPE, BAD_SHAPE, BAD_ARGUMENT, NOT_KEPT,
   * WRONG_STEP.
   */
  capture(step: Step, options?: { readonly chain?: ChainRule }): Promise<CapturedGraph>;
}
