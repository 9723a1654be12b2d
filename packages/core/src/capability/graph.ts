import type { HostArray } from '../dtype.js';
import type { Step } from '../step.js';
import type { Tensor } from '../tensor.js';

/** Cache slot of a row: slot = blockTable[s][position / blockSize] · blockSize + position % blockSize. */
export interface SlotRule {
  /** Input [S]: receives the slots. */
  readonly slots: Tensor;
  /** Input [S]: the positions; usually one of `advance`. */
  readonly positions: Tensor;
  /** [S, B], with a block for every position of the chain. */
  readonly blockTable: Tensor;
  readonly blockSize: number;
}

/** The update between two replays of a chain of S rows. All tensors are i32. */
export interface ChainRule {
  /** Kept tensor [S]: the new token of each row. */
  readonly output: Tensor;
  /** Input [S]: receives the tokens before the next replay. */
  readonly feed: Tensor;
  /** Inputs [S] (positions, lengths): each word grows by 1 before the next replay. */
  readonly advance: readonly Tensor[];
  readonly slots?: SlotRule;
  /** Maximum replays per chain. */
  readonly most: number;
}

export interface ChainOptions {
  /**
   * [S], in shared memory: token limit of each row, 1 to the rule's `most`. The caller may lower a limit while the
   * chain runs; 0 ends the row with the current replay.
   */
  readonly limits: Int32Array;
  /** A row ends after its first token in `stops`. */
  readonly stops?: Int32Array;
  readonly signal?: AbortSignal;
  /**
   * Called for each step once, in order, while the chain runs and before its promise settles. `tokens` [S], the caller's
   * own: the step's new token of each row, −1 for a row that ended before this step. `step` counts from 0. The device
   * does not wait for the listener: it may be some steps ahead, so a limit that the listener lowers may leave the row a
   * few tokens more. Calls come on the JS thread, several in one turn if it was busy. A backend that cannot report steps
   * calls for all of them right before the promise settles.
   *
   * An error that the listener throws sets all limits to 0: the chain ends with the step under way, and rejects with
   * that error. There are no calls after it, and none for the last steps of a chain that fails.
   */
  readonly onTokens?: (tokens: Int32Array, step: number) => void;
}

/** Result of a chain of n replays. */
export interface ChainResult {
  /** [n, S]. An ended row repeats its last step: only its first `counts[row]` tokens count. */
  readonly tokens: Int32Array;
  /** [S] */
  readonly counts: Int32Array;
}

/** A step that the device keeps and runs again with other inputs. Same inputs give the same bits as the step. */
export interface CapturedGraph {
  /**
   * Replaces values of an input from element `at` on. The values stay until the next write. A replay uses the inputs as
   * they are at its call: the next write may come while the replay waits or runs. Throws BAD_SHAPE, BAD_DTYPE or
   * BAD_ARGUMENT if the values do not fit.
   */
  write(input: Tensor, values: HostArray, at?: number): void;
  /**
   * Runs once with the current inputs. Several replays may be requested before the first one ends; they end in call
   * order. Rejects with ABORTED, OUT_OF_RANGE, or DISPOSED after a weight or buffer of the graph has been freed.
   */
  replay(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Replays by the rule given at capture, until every row has ended. The result equals single replays with writes
   * between them, but the device need not wake JavaScript for each replay. The inputs stay as the last replay found
   * them. Rejects as `replay` does, without results and with the rule's inputs in any state. Rejects with BAD_ARGUMENT
   * for wrong limits or a graph without a rule.
   */
  replayChain(options: ChainOptions): Promise<ChainResult>;
  /**
   * Values of a kept tensor after the latest ended replay: a view, overwritten by the next replay. With several replays
   * under way, use the view before the event loop goes on. All kept tensors of a graph share one buffer: give away
   * copies (`slice()`). A graph whose buffer has been transferred throws BAD_ARGUMENT.
   */
  read(tensor: Tensor): HostArray;
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Capture and replay: a decode step costs no recording and one call. */
export interface Graph {
  /**
   * Captures a recorded step that has not run, with its leaves and kept tensors. The call finishes the step; the plan
   * is laid out in turns of the event loop. With a rule, the graph can replay in chains. Rejects with STEP_FINISHED,
   * DISPOSED, OUT_OF_MEMORY; for a wrong rule with BAD_DTYPE, BAD_SHAPE, BAD_ARGUMENT, NOT_KEPT, WRONG_STEP.
   */
  capture(step: Step, options?: { readonly chain?: ChainRule }): Promise<CapturedGraph>;
}
