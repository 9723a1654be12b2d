import {
  type AttentionBatch,
  type BatchArrays,
  batchInputs,
  type ChainRule,
  type InputOf,
  type KvCache,
  type RecordedPart,
  type StepPart,
  type Tensor,
} from '@quern/core';
import type { AdapterStacks, LanguageModel, ModelPart } from '@quern/models';
import { longestChain } from '../batch.js';
import { canFeed, type SamplingMode } from '../sampling/mode.js';
import { recordSampling, type SamplingArrays } from '../sampling/record.js';
import type { AdapterArrays } from './adapter-arrays.js';

export interface RunnerOptions {
  readonly model: LanguageModel;
  readonly cache: KvCache;
  /** Capture steps where the backend can; otherwise every step is recorded. */
  readonly capture: boolean;
  /** Most prompt tokens in one step. */
  readonly prefillChunk: number;
}

/** Inputs of a forward pass: T rows of S sequences. */
export type ForwardArrays = SamplingArrays &
  AdapterArrays & {
    /** ids are [T]. */
    readonly [Name in keyof BatchArrays | 'ids']: Int32Array;
  } & {
    /** [T, D]: input of every part but the first, from the part before. Empty for a model of one part. */
    readonly hidden: Float32Array;
  };

/** Rows with logits: none, the rows of each sequence with outputs, or all. */
export type LogitsOf = 'none' | 'outputs' | 'all';

/**
 * The forward pass, part by part, up to `mode` over the logits of `lastRows`; of 'all': `lastRows` is every row, in every run of
 * the step. `stacks`: of a step with adapters.
 */
export function forwardParts(
  { model, cache, capture }: RunnerOptions,
  arrays: ForwardArrays,
  mode: SamplingMode,
  of: LogitsOf,
  stacks?: AdapterStacks['stacks'],
): StepPart<ForwardArrays>[] {
  const { parts, config } = model;
  const T = arrays.ids.length;
  const k = arrays.places.length / T;
  const adapted = (input: InputOf<ForwardArrays>) =>
    stacks && { stacks, places: input('places', [T, k]), scales: input('scales', [T, k]) };
  const recordPart = (part: ModelPart, input: InputOf<ForwardArrays>): RecordedPart => {
    const x = part === parts[0] ? input('ids') : input('hidden', [T, config.width]);
    const batch = batchInputs(input, arrays);
    const hidden = part.forward(x, batch, cache, adapted(input)); // [T, D]
    if (part !== parts.at(-1)) return { outputs: { hidden } };
    const rows = of === 'all' ? hidden : part.backend.gatherRows(hidden, batch.lastRows); // [R, D]
    const logits = model.logits(rows); // [R, V]
    const outputs = recordSampling(part.backend, logits, mode, input);
    if (!(capture && chains(arrays, mode) && parts.length === 1)) return { outputs };
    const draws = mode.kind === 'drawn' ? [input('draws')] : [];
    return { outputs, chain: chainRule(x, batch, outputs.best!, draws, cache.blockSize) };
  };
  return parts.map((part) => ({
    backend: part.backend,
    graph: capture ? part.backend.graph : undefined,
    record: (_step, input) => recordPart(part, input),
  }));
}

/** Whether the tokens of a step can be the ids of the next step: one row per sequence. */
const chains = ({ ids, kvLengths, lastRows }: ForwardArrays, mode: SamplingMode): boolean =>
  ids.length === kvLengths.length && ids.length === lastRows.length && canFeed(mode);

/** Next step of a row: id = its token, position + 1, length + 1, slot from the position. */
const chainRule = (
  ids: Tensor,
  { positions, slots, kvLengths, blockTable }: AttentionBatch,
  output: Tensor,
  draws: readonly Tensor[],
  blockSize: number,
): ChainRule => ({
  output,
  feed: ids,
  advance: [positions, kvLengths, ...draws],
  slots: { slots, positions, blockTable, blockSize },
  most: longestChain,
});
