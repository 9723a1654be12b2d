import {
  type BatchArrays,
  type KvSequence,
  RepeatedStep,
  StepCache,
  type StepRecipe,
  writeBatch,
} from '@quern/core';
import type { Draws } from '../sampling/draws.js';
import type { ForwardArrays } from './forward-arrays.js';
import type { ForwardStepsOptions } from './forward-options.js';
import { forwardParts } from './forward-parts.js';
import { sampleArrays, writeDraws } from './sampled-head.js';
import { type Head, type RowOutput, readRows } from './step-output.js';

/** Tokens of a sequence for a step, from position `start` on. The sequence has room for them. */
export interface StepRows {
  readonly sequence: KvSequence;
  readonly start: number;
  readonly tokens: readonly number[];
  /** Lets the device draw the next token. Absent: the device takes the likeliest token. */
  readonly draws?: Draws | undefined;
}

/** Rows with logits: none, the last row of each sequence, or all. */
export type LogitsOf = 'none' | 'last' | 'all';

export interface ChainOptions {
  readonly head: 'argmax' | 'sampled';
  /** [S], in shared memory: most tokens of each row, ≤ `longestChain`. Setting 0 ends a row after the current step. */
  readonly limits: Int32Array;
  /** End tokens. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
}

/** Most captured steps of decoding and drafts, and most rows of these steps together. */
const limits = { steps: 32, rows: 136 } as const;

/** Most captured steps of prompts. Their rows together: at most a chunk, the size that the planner counts. */
const promptSteps = 16;

/**
 * The steps of one model over one cache: T rows of S sequences in, tokens or logits out. Prompts, decoding, drafts and
 * checks of drafts differ only in the number of rows and the head.
 */
export class ForwardSteps {
  private readonly captured = new StepCache<ForwardArrays>(limits);
  private readonly prompts: StepCache<ForwardArrays>;

  constructor(private readonly options: ForwardStepsOptions) {
    this.prompts = new StepCache({ steps: promptSteps, rows: options.prefillChunk });
  }

  /** Whether the device can draw tokens. */
  get canDraw(): boolean {
    const { model, capture } = this.options;
    return capture && model.backend.graph !== undefined;
  }

  /**
   * Whether steps can chain. Not for a model of several parts: hidden states pass through JavaScript between the parts.
   */
  get canChain(): boolean {
    return this.canDraw && this.options.model.parts.length === 1;
  }

  /**
   * Computes a batch of a recurring shape, with the same number of rows per sequence; captured where possible. `take`
   * reads the rows; the next run overwrites them.
   */
  run<T>(
    batch: readonly StepRows[],
    head: Head,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.use(batch, head, runOf(batch, head, take, signal));
  }

  /**
   * Computes a chunk of a prompt, with the logits of its last row unless the head is 'none'. Captured for its number of
   * rows, because preparing a step takes as long as computing several rows: at the first use, or at the second where
   * other work waits for the device (`shared`), because a capture waits for a turn of its own. One chunk of a sequence
   * at a time: a step that is captured first reaches the device later.
   */
  prompt<T>(
    chunk: StepRows,
    head: Head,
    shared: boolean,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const rows = chunk.tokens.length;
    const key = { key: `${head} ${rows}`, rows, capture: shared ? 'second' : 'first' } as const;
    const recipe = () => this.recipe([chunk], head, head === 'none' ? 'none' : 'last');
    return this.prompts.use(key, recipe, runOf([chunk], head, take, signal));
  }

  /**
   * Computes one token of each sequence and the tokens after it, without waking JavaScript in between. Returns the
   * tokens of each row, at least one.
   */
  chain(batch: readonly StepRows[], { head, limits, stops, signal }: ChainOptions): Promise<Int32Array[]> {
    return this.use(batch, head, async (step) => {
      write(step, batch, Math.max(...limits));
      for (let s = 0; s < limits.length; s++) limits[s] = Math.max(1, limits[s]!); // one token, even at limit 0
      const { tokens, counts } = await step.chain({ limits, stops, ...(signal && { signal }) });
      return batch.map((_, s) => tokensOfRow(tokens, s, counts));
    });
  }

  /**
   * Computes a batch of a shape that does not recur, or beside other steps of its sequence: recorded. Steps reach the
   * device in call order.
   * `take` reads the rows of `of`.
   */
  async once<T>(
    batch: readonly StepRows[],
    head: Head,
    of: LogitsOf,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const step = RepeatedStep.recorded(this.recipe(batch, head, of));
    await step.run(signal);
    return take(readRows(step, head));
  }

  dispose(): void {
    this.captured.dispose();
    this.prompts.dispose();
  }

  private use<T>(
    batch: readonly StepRows[],
    head: Head,
    act: (step: RepeatedStep<ForwardArrays>) => Promise<T>,
  ): Promise<T> {
    const rows = batch.length * batch[0]!.tokens.length;
    const key = `${head} ${batch.length} ${rows}`;
    return this.captured.use({ key, rows }, () => this.recipe(batch, head, 'all'), act);
  }

  private recipe(batch: readonly StepRows[], head: Head, of: LogitsOf): StepRecipe<ForwardArrays> {
    const { model, cache } = this.options;
    const described = cache.describe(
      batch.map(({ sequence, tokens }) => ({ sequence, rows: tokens.length })),
    );
    const arrays = {
      ...described,
      ids: Int32Array.from(batch.flatMap(({ tokens }) => tokens)),
      lastRows: rowsWithLogits(described, of),
      ...sampleArrays(head === 'sampled' ? batch.length : 0),
      hidden: new Float32Array(model.parts.length > 1 ? described.positions.length * model.config.width : 0),
    };
    return { arrays, parts: forwardParts(this.options, arrays, head) };
  }
}

/** Writes a batch into a step of its shape, runs the step and takes its rows. */
const runOf =
  <T>(
    batch: readonly StepRows[],
    head: Head,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ) =>
  async (step: RepeatedStep<ForwardArrays>): Promise<T> => {
    write(step, batch, 1);
    await step.run(signal);
    return take(readRows(step, head));
  };

function rowsWithLogits({ positions, lastRows }: BatchArrays, of: LogitsOf): Int32Array {
  if (of === 'all') return positions.map((_, row) => row);
  return of === 'last' ? lastRows : new Int32Array(0);
}

function write(step: RepeatedStep<ForwardArrays>, batch: readonly StepRows[], count: number): void {
  const { ids, settings } = step.arrays;
  let t = 0;
  for (const { tokens } of batch) for (const token of tokens) ids[t++] = token;
  step.write('ids');
  writeBatch(step, batch);
  if (settings.length > 0) writeDraws(step, batch, count);
}

/** The tokens of row `s` in a chain's [n, S]. */
const tokensOfRow = (tokens: Int32Array, s: number, counts: Int32Array): Int32Array =>
  Int32Array.from({ length: counts[s]! }, (_, step) => tokens[step * counts.length + s]!);
