import { type BatchArrays, RepeatedStep, type StepRecipe, writeBatch } from '@quern/core';
import type { AdapterStacks } from '@quern/models';
import { RuntimeError } from '../error.js';
import { AdaptedSteps } from './adapted-steps.js';
import { type AdapterArrays, adapterArrays, adaptersPerRow, writeRowAdapters } from './adapter-arrays.js';
import { batchRows } from './batch-rows.js';
import type { ForwardArrays } from './forward-arrays.js';
import type { ForwardStepsOptions } from './forward-options.js';
import { forwardParts } from './forward-parts.js';
import { mixedArrays, writeMixed } from './mixed-arrays.js';
import { modeKey, type SamplingMode } from './sampling/mode.js';
import {
  type RowOutput,
  readRows,
  type SamplingArrays,
  samplingArrays,
  writeSampling,
} from './sampling/record.js';
import { type LogitsOf, outputsOf, type StepRows } from './step-rows.js';
import { StepSet } from './step-set.js';
import { sizeOf } from './step-times.js';

export interface ChainOptions {
  /** Of a mode that can feed its tokens. */
  readonly mode: SamplingMode;
  /** [S], in shared memory: most tokens of each row, ≤ `longestChain`. Setting 0 ends a row after the current step. */
  readonly limits: Int32Array;
  /** End tokens. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
}

/** Numbers of sequences of captured mixed steps. */
const sequenceSizes = [2, 4, 8, 16, 32, 64, 128, 256] as const;

/**
 * The steps of one model over one cache: T rows of S sequences in, tokens or logits out. Prompts, decoding, drafts and
 * checks of drafts differ only in the number of rows and the mode.
 */
export class ForwardSteps {
  private readonly captured: StepSet;
  /** Steps with the present adapters. */
  private adapted: AdaptedSteps | undefined;
  private disposed = false;

  constructor(private readonly options: ForwardStepsOptions) {
    this.captured = new StepSet(options.prefillChunk);
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
   * Computes a batch of a recurring shape: all rows have an output, and the same number per sequence. Captured where
   * possible. `take` reads the rows; the next run overwrites them.
   */
  run<T>(
    batch: readonly StepRows[],
    mode: SamplingMode,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.decoding(batch, mode, runOf(batch, mode, take, signal));
  }

  /**
   * Computes a chunk of a prompt, with the logits of its last row unless the mode is 'none'. Captured for its number of
   * rows, because preparing a step takes as long as computing several rows: at the first use, or at the second where
   * other work waits for the device (`shared`), because a capture waits for a turn of its own. One chunk of a sequence
   * at a time: a step that is captured first reaches the device later.
   */
  prompt<T>(
    chunk: StepRows,
    mode: SamplingMode,
    shared: boolean,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const rows = chunk.tokens.length;
    return this.with([chunk], ({ captured, k, stacks }) => {
      const key = {
        key: `${modeKey(mode)} ${rows} ${k}`,
        rows,
        capture: shared ? 'second' : 'first',
      } as const;
      const recipe = () => this.recipe([chunk], mode, mode.kind === 'none' ? 'none' : 'last', k, stacks);
      return captured.prompts.use(key, recipe, runOf([chunk], mode, take, signal));
    });
  }

  /**
   * Computes rows of several sequences, in any numbers; `take` reads the rows with outputs, sequence by sequence. Steps
   * with the same numbers of rows, outputs and sequences share a captured step; idle ones fill it up. Steps of more rows
   * than a decoding step may have (`batchRows`) do not recur: they are recorded.
   */
  mixed<T>(
    batch: readonly StepRows[],
    mode: SamplingMode,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const rows = batch.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const of = mode.kind === 'none' ? 'none' : 'last';
    const T = sizeOf(rows);
    const { capacity } = batch[0]!.sequence;
    const S = sequenceSizes.find((size) => size > batch.length); // one sequence has the idle rows
    const recurs = S !== undefined && rows <= batchRows(this.options.prefillChunk);
    if (!recurs || T - rows > capacity) return this.once(batch, mode, of, take, signal);
    const R = of === 'none' ? 0 : Math.max(S, sizeOf(outputsOf(batch)));
    return this.with(batch, ({ captured, k, stacks }) => {
      const key = { key: `${modeKey(mode)} ${S} ${T} ${R} ${k}`, rows: T, capture: 'second' } as const;
      const recipe = () => this.recipeOf(mixedArrays(this.options, S, T, R), mode, 'last', k, stacks);
      return captured.mixed.use(key, recipe, async (step) => {
        writeMixed(step, batch);
        await step.run(signal);
        return take(readRows(step, mode));
      });
    });
  }

  /**
   * Computes one token of each sequence and the tokens after it, without waking JavaScript in between. Returns the
   * tokens of each row, at least one.
   */
  chain(batch: readonly StepRows[], { mode, limits, stops, signal }: ChainOptions): Promise<Int32Array[]> {
    return this.decoding(batch, mode, async (step) => {
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
  once<T>(
    batch: readonly StepRows[],
    mode: SamplingMode,
    of: LogitsOf,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.with(batch, async ({ k, stacks }) => {
      const step = RepeatedStep.recorded(this.recipe(batch, mode, of, k, stacks));
      if (mode.kind === 'drawn') writeSampling(step, batch, 1);
      if (k > 0) writeRowAdapters(step, batch);
      await step.run(signal);
      return take(readRows(step, mode));
    });
  }

  /** Steps from now on use these adapters; undefined: there are none. @throws RuntimeError DISPOSED */
  adapt(adapters: AdapterStacks | undefined): void {
    if (this.disposed && adapters) {
      adapters.dispose();
      throw disposed();
    }
    const before = this.adapted;
    this.adapted = adapters && new AdaptedSteps(adapters, this.options.prefillChunk);
    before?.retire();
  }

  dispose(): void {
    this.disposed = true;
    this.captured.dispose();
    this.adapt(undefined);
  }

  /** Steps with adapters are captured apart: other steps cost nothing more. */
  private with<T>(batch: readonly StepRows[], act: (place: StepPlace) => Promise<T>): Promise<T> {
    const k = adaptersPerRow(batch);
    if (k === 0) return act({ captured: this.captured, k, stacks: undefined });
    const { adapted } = this; // a call holds its adapters
    if (!adapted) throw disposed();
    const { captured, adapters } = adapted;
    return adapted.use(() => act({ captured, k, stacks: adapters.stacks }));
  }

  private decoding<T>(
    batch: readonly StepRows[],
    mode: SamplingMode,
    act: (step: RepeatedStep<ForwardArrays>) => Promise<T>,
  ): Promise<T> {
    const rows = batch.length * batch[0]!.tokens.length;
    return this.with(batch, ({ captured, k, stacks }) => {
      const key = `${modeKey(mode)} ${batch.length} ${rows} ${k}`;
      return captured.decoding.use({ key, rows }, () => this.recipe(batch, mode, 'all', k, stacks), act);
    });
  }

  private recipe(
    batch: readonly StepRows[],
    mode: SamplingMode,
    of: LogitsOf,
    k: number,
    stacks: StepPlace['stacks'],
  ): StepRecipe<ForwardArrays> {
    const { cache } = this.options;
    const described = cache.describe(
      batch.map(({ sequence, tokens }) => ({ sequence, rows: tokens.length })),
    );
    const arrays = {
      ...described,
      ids: Int32Array.from(batch.flatMap(({ tokens }) => tokens)),
      lastRows: rowsWithLogits(described, of, batch),
    };
    return this.recipeOf(arrays, mode, of, k, stacks);
  }

  private recipeOf(
    batch: Omit<ForwardArrays, 'hidden' | keyof SamplingArrays | keyof AdapterArrays>,
    mode: SamplingMode,
    of: LogitsOf,
    k: number,
    stacks: StepPlace['stacks'],
  ): StepRecipe<ForwardArrays> {
    const { model } = this.options;
    const [T, R] = [batch.ids.length, batch.lastRows.length];
    const arrays = {
      ...batch,
      ...adapterArrays(T, k),
      ...samplingArrays(R, model.config.vocabulary, mode),
      hidden: new Float32Array(model.parts.length > 1 ? T * model.config.width : 0),
    };
    return { arrays, parts: forwardParts(this.options, arrays, mode, of, stacks) };
  }
}

/** Writes a batch into a step of its shape, runs the step and takes its rows. */
const runOf =
  <T>(
    batch: readonly StepRows[],
    mode: SamplingMode,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ) =>
  async (step: RepeatedStep<ForwardArrays>): Promise<T> => {
    write(step, batch, 1);
    await step.run(signal);
    return take(readRows(step, mode));
  };

function rowsWithLogits(
  { positions, lastRows }: BatchArrays,
  of: LogitsOf,
  batch: readonly StepRows[],
): Int32Array {
  if (of === 'all') return positions.map((_, row) => row);
  if (of === 'none') return new Int32Array(0);
  return Int32Array.from(
    batch.flatMap(({ outputs = 1 }, s) =>
      Array.from({ length: outputs }, (_, i) => lastRows[s]! - outputs + 1 + i),
    ),
  );
}

function write(step: RepeatedStep<ForwardArrays>, batch: readonly StepRows[], count: number): void {
  const { ids, settings, places } = step.arrays;
  let t = 0;
  for (const { tokens } of batch) for (const token of tokens) ids[t++] = token;
  step.write('ids');
  writeBatch(step, batch);
  if (settings.length > 0) writeSampling(step, batch, count);
  if (places.length > 0) writeRowAdapters(step, batch);
}

/** Where a step is captured, and the adapters it computes with: up to k per row. */
interface StepPlace {
  readonly captured: StepSet;
  readonly k: number;
  readonly stacks: AdapterStacks['stacks'] | undefined;
}

const disposed = () => new RuntimeError('DISPOSED', 'the model has been disposed');

/** The tokens of row `s` in a chain's [n, S]. */
const tokensOfRow = (tokens: Int32Array, s: number, counts: Int32Array): Int32Array =>
  Int32Array.from({ length: counts[s]! }, (_, step) => tokens[step * counts.length + s]!);
