import {
  type AttentionBatch,
  type BatchArrays,
  batchInputs,
  type ChainRule,
  type InputOf,
  type RecordedPart,
  type StepPart,
  type Tensor,
} from '@quern/core';
import type { ModelPart } from '@quern/models';
import type { ForwardStepsOptions } from './forward-steps.js';
import { longestChain } from './longest-chain.js';
import type { SampleArrays } from './sampled-head.js';
import { type Head, recordHead } from './step-output.js';

/** Inputs of a forward pass of T rows of S sequences. */
export type ForwardArrays = SampleArrays & {
  /** ids are [T]. */
  readonly [Name in keyof BatchArrays | 'ids']: Int32Array;
} & {
  /** [T, D]: what each part but the first takes from the part before; empty for a model of one part. */
  readonly hidden: Float32Array;
};

/** The forward pass, part by part, up to what `head` leaves of the logits of `lastRows`. */
export function forwardParts(
  { model, cache, capture }: ForwardStepsOptions,
  arrays: ForwardArrays,
  head: Head,
): StepPart<ForwardArrays>[] {
  const { parts, config } = model;
  const T = arrays.ids.length;
  const recordPart = (part: ModelPart, input: InputOf<ForwardArrays>): RecordedPart => {
    const x = part === parts[0] ? input('ids') : input('hidden', [T, config.width]);
    const batch = batchInputs(input, arrays);
    const hidden = part.forward(x, batch, cache); // [T, D]
    if (part !== parts.at(-1)) return { outputs: { hidden } };
    const logits = model.logits(part.backend.gatherRows(hidden, batch.lastRows)); // [R, V]
    const outputs = recordHead(part.backend, logits, head, input);
    if (!(capture && chains(arrays, head) && parts.length === 1)) return { outputs };
    return { outputs, chain: chainRule(x, batch, outputs.best!, head === 'sampled' ? [input('draws')] : []) };
  };
  return parts.map((part) => ({
    backend: part.backend,
    graph: capture ? part.backend.graph : undefined,
    record: (_step, input) => recordPart(part, input),
  }));
}

/** Whether the tokens that a step leaves can be the next step's ids. */
const chains = ({ ids }: ForwardArrays, head: Head): boolean =>
  ids.length === 1 && (head === 'argmax' || head === 'sampled');

/** A row's token is its next id; position, slot and length grow. */
const chainRule = (
  ids: Tensor,
  { positions, slots, kvLengths }: AttentionBatch,
  output: Tensor,
  draws: readonly Tensor[],
): ChainRule => ({
  output,
  feed: ids,
  advance: [positions, slots, kvLengths, ...draws],
  most: longestChain,
});
