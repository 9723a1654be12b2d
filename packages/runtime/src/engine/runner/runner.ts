import { type BatchArrays, type ChainOptions, RepeatedStep, type StepRecipe } from '@quern/core';
import type { AdapterStacks } from '@quern/models';
import { modelDisposed } from '../../error.js';
import { type Batch, batchRows, outputsOf, rowsOf, sizeOf } from '../batch.js';
import { modeKey, type SamplingMode } from '../sampling/mode.js';
import {
  type RowOutput,
  readRows,
  type SamplingArrays,
  samplingArrays,
  writeSampling,
} from '../sampling/record.js';
import { type AdapterArrays, adapterArrays, adaptersPerRow, writeRowAdapters } from './adapter-arrays.js';
import { type ForwardArrays, forwardParts, type LogitsOf, type RunnerOptions } from './forward-parts.js';
import { AdaptedSteps, StepSet } from './step-set.js';
import { kvPlaces, mixedArrays, withIdleRows, writeMixed, writeRows } from './write-batch.js';

export type { RunnerOptions } from './forward-parts.js';

/** Steps that the device computes one after the other, each from the tokens of the one before. */
export interface Chain {
  /** [S], in shared memory: most tokens of each row, ≤ `longestChain`. Setting 0 ends a row after the current step. */
  readonly limits: Int32Array;
  /** End tokens. */
  readonly stops: Int32Array;
  /** As `ChainOptions.onTokens`. */
  readonly onTokens?: ChainOptions['onTokens'] | undefined;
}

/** How a batch is computed. */
export interface RunOptions {
  readonly mode: SamplingMode;
  readonly signal?: AbortSignal | undefined;
  /** Other steps compute tokens before or after these of the same sequences, at the same time: the order is kept. */
  readonly inOrder?: boolean | undefined;
  /** Other work waits for the device: a shape is captured at its second use, because a capture waits for a turn of its own. */
  readonly isShared?: boolean | undefined;
  /** Every row has an output, whatever the batch says. */
  readonly all?: boolean | undefined;
  /** Batches of one row per sequence. */
  readonly chain?: Chain | undefined;
}

/** Reads the outputs: of a chain, all tokens of each row. The next step overwrites them. */
export type TakeOutputs<T> = (outputs: readonly RowOutput[]) => T;

/** Numbers of sequences of captured mixed steps. */
const sequenceSizes = [2, 4, 8, 16, 32, 64, 128, 256] as const;

/** Where a step is captured, and the adapters it computes with: up to k per row. */
interface StepHome {
  readonly captured: StepSet;
  readonly k: number;
  readonly stacks: AdapterStacks['stacks'] | undefined;
}

/**
 * Computes batches with one model over one cache. Prompts, decoding and checks of drafts differ only in their numbers of
 * rows and outputs. Shapes that recur are captured: the same rows for each sequence; a chunk of one prompt; any rows of
 * several sequences, filled up with idle ones. Only the runner knows of captures.
 */
export class Runner {
  private readonly captured: StepSet;
  /** Steps with the present adapters. */
  private adapted: AdaptedSteps | undefined;
  private disposed = false;

  constructor(private readonly options: RunnerOptions) {
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

  /** Computes a batch, and takes its outputs, sequence by sequence. */
  run<T>(batch: Batch, take: TakeOutputs<T>, options: RunOptions): Promise<T> {
    const { chain, inOrder, all } = options;
    if (chain) return this.chain(batch, take, options, chain);
    if (inOrder || all) return this.once(batch, take, options);
    if (isDecoding(batch)) return this.decode(batch, take, options);
    return batch.length > 1 ? this.mixed(batch, take, options) : this.prompt(batch, take, options);
  }

  /** Steps from now on use these adapters; undefined: there are none. @throws RuntimeError DISPOSED */
  adapt(adapters: AdapterStacks | undefined): void {
    if (this.disposed && adapters) {
      adapters.dispose();
      throw modelDisposed();
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

  /** A row per sequence, or one sequence with drafts. */
  private decode<T>(batch: Batch, take: TakeOutputs<T>, options: RunOptions): Promise<T> {
    return this.decoding(withIdleRows(batch), options, (step, padded) =>
      this.fill(step, padded, take, options),
    );
  }

  private chain<T>(
    batch: Batch,
    take: TakeOutputs<T>,
    options: RunOptions,
    { limits, stops, onTokens }: Chain,
  ): Promise<T> {
    return this.decoding(batch, options, async (step) => {
      writeRows(step, batch, Math.max(...limits), this.blockSize);
      for (let s = 0; s < limits.length; s++) limits[s] = Math.max(1, limits[s]!); // one token, even at limit 0
      const { signal } = options;
      const given = { ...(signal && { signal }), ...(onTokens && { onTokens }) };
      const { tokens, counts } = await step.chain({ limits, stops, ...given });
      return take(batch.map((_, s) => ({ best: tokensOfRow(tokens, s, counts), logits: undefined })));
    });
  }

  /**
   * A chunk of a prompt, captured for its number of rows, because preparing a step takes as long as computing several
   * rows. One chunk of a sequence at a time: a step that is captured first reaches the device later.
   */
  private prompt<T>(batch: Batch, take: TakeOutputs<T>, options: RunOptions): Promise<T> {
    const { mode, isShared } = options;
    const rows = rowsOf(batch);
    return this.with(batch, (home) => {
      const key = {
        key: `${modeKey(mode)} ${rows} ${home.k}`,
        rows,
        capture: isShared ? 'second' : 'first',
      } as const;
      const recipe = () => this.recipe(batch, mode, ofMode(mode), home);
      return home.captured.prompts.use(key, recipe, (step) => this.fill(step, batch, take, options));
    });
  }

  /**
   * Rows of several sequences, in any numbers. Steps with the same numbers of rows, outputs and sequences share a
   * captured step; idle ones fill it up. Steps of more rows than a decoding step may have (`batchRows`) do not recur.
   */
  private mixed<T>(batch: Batch, take: TakeOutputs<T>, options: RunOptions): Promise<T> {
    const { mode, signal } = options;
    const rows = rowsOf(batch);
    const T = sizeOf(rows);
    const { cache, prefillChunk } = this.options;
    const S = sequenceSizes.find((size) => size > batch.length); // one sequence has the idle rows
    const recurs = S !== undefined && rows <= batchRows(prefillChunk);
    if (!recurs || T - rows > cache.maxBlocks * cache.blockSize) return this.once(batch, take, options);
    const R = mode.kind === 'none' ? 0 : Math.max(S, sizeOf(outputsOf(batch)));
    return this.with(batch, (home) => {
      const key = { key: `${modeKey(mode)} ${S} ${T} ${R} ${home.k}`, rows: T, capture: 'second' } as const;
      const recipe = () => this.recipeOf(mixedArrays(this.options, S, T, R), mode, 'outputs', home);
      return home.captured.mixed.use(key, recipe, async (step) => {
        writeMixed(step, batch, this.blockSize);
        await step.run(signal);
        return take(readRows(step, mode));
      });
    });
  }

  /** A batch of a shape that does not recur, or beside other steps of its sequences. Reaches the device in call order. */
  private once<T>(batch: Batch, take: TakeOutputs<T>, { mode, signal, all }: RunOptions): Promise<T> {
    return this.with(batch, async (home) => {
      const step = RepeatedStep.recorded(this.recipe(batch, mode, all ? 'all' : ofMode(mode), home));
      if (mode.kind === 'drawn') writeSampling(step, batch, 1);
      if (home.k > 0) writeRowAdapters(step, batch);
      await step.run(signal);
      return take(readRows(step, mode));
    });
  }

  /** Writes a batch into a step of its shape, runs the step and takes its outputs. */
  private async fill<T>(
    step: RepeatedStep<ForwardArrays>,
    batch: Batch,
    take: TakeOutputs<T>,
    { mode, signal }: RunOptions,
  ): Promise<T> {
    writeRows(step, batch, 1, this.blockSize);
    await step.run(signal);
    return take(readRows(step, mode));
  }

  private get blockSize(): number {
    return this.options.cache.blockSize;
  }

  /** Steps with adapters are captured apart: other steps cost nothing more. */
  private with<T>(batch: Batch, act: (home: StepHome) => Promise<T>): Promise<T> {
    const k = adaptersPerRow(batch);
    if (k === 0) return act({ captured: this.captured, k, stacks: undefined });
    const { adapted } = this; // a request holds its adapters
    if (!adapted) throw modelDisposed();
    const { captured, adapters } = adapted;
    return adapted.use(() => act({ captured, k, stacks: adapters.stacks }));
  }

  private decoding<T>(
    batch: Batch,
    { mode }: RunOptions,
    act: (step: RepeatedStep<ForwardArrays>, batch: Batch) => Promise<T>,
  ): Promise<T> {
    const rows = rowsOf(batch);
    return this.with(batch, (home) => {
      const key = `${modeKey(mode)} ${batch.length} ${rows} ${home.k}`;
      const recipe = () => this.recipe(batch, mode, 'all', home);
      return home.captured.decoding.use({ key, rows }, recipe, (step) => act(step, batch));
    });
  }

  private recipe(batch: Batch, mode: SamplingMode, of: LogitsOf, home: StepHome): StepRecipe<ForwardArrays> {
    const { cache } = this.options;
    const described = cache.describe(
      batch.map((rows) => ({ sequence: kvPlaces(rows, cache.blockSize), rows: rows.tokens.length })),
    );
    const arrays = {
      ...described,
      ids: Int32Array.from(batch.flatMap(({ tokens }) => tokens)),
      lastRows: rowsWithLogits(described, of, batch),
    };
    return this.recipeOf(arrays, mode, of, home);
  }

  private recipeOf(
    batch: Omit<ForwardArrays, 'hidden' | keyof SamplingArrays | keyof AdapterArrays>,
    mode: SamplingMode,
    of: LogitsOf,
    { k, stacks }: StepHome,
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

/** Whether all rows have outputs, in a shape that recurs: one row per sequence, or one sequence with drafts. */
const isDecoding = (batch: Batch): boolean =>
  batch.every(({ tokens, outputs }) => tokens.length === outputs && (outputs === 1 || batch.length === 1));

const ofMode = (mode: SamplingMode): LogitsOf => (mode.kind === 'none' ? 'none' : 'outputs');

function rowsWithLogits({ positions, lastRows }: BatchArrays, of: LogitsOf, batch: Batch): Int32Array {
  if (of === 'all') return positions.map((_, row) => row);
  if (of === 'none') return new Int32Array(0);
  return Int32Array.from(
    batch.flatMap(({ outputs }, s) =>
      Array.from({ length: outputs }, (_, i) => lastRows[s]! - outputs + 1 + i),
    ),
  );
}

/** The tokens of row `s` in a chain's [n, S]. */
const tokensOfRow = (tokens: Int32Array, s: number, counts: Int32Array): Int32Array =>
  Int32Array.from({ length: counts[s]! }, (_, step) => tokens[step * counts.length + s]!);
