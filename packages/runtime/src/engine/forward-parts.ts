import {
  type AttentionBatch,
  batchInputs,
  type ChainRule,
  type InputOf,
  type RecordedPart,
  type StepPart,
  type Tensor,
} from '@quern/core';
import type { AdapterStacks, ModelPart } from '@quern/models';
import type { ForwardArrays } from './forward-arrays.js';
import type { ForwardStepsOptions } from './forward-options.js';
import { longestChain } from './longest-chain.js';
import { canFeed, type SamplingMode } from './sampling/mode.js';
import { recordSampling } from './sampling/record.js';
import type { LogitsOf } from './step-rows.js';

/**
 * The forward pass, part by part, up to the outputs of `mode` from the logits of `lastRows`; of 'all': `lastRows` is every row, in every run of
 * the step. `stacks`: of a step with adapters.
 */
export function forwardParts(
  { model, cache, capture }: ForwardStepsOptions,
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
