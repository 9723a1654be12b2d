import {
  type AttentionBatch,
  type BatchArrays,
  batchInputs,
  type ChainRule,
  type StepPart,
  type Tensor,
} from '@quern/core';
import type { ForwardStepsOptions } from './forward-steps.js';
import { longestChain } from './longest-chain.js';
import type { SampleArrays } from './sampled-head.js';
import { type Head, recordHead } from './step-output.js';

/** Inputs of a forward pass of T rows of S sequences; ids are [T]. */
export type ForwardArrays = { readonly [Name in keyof BatchArrays | 'ids']: Int32Array } & SampleArrays;

/** The forward pass up to what `head` leaves of the logits of `lastRows`: one part, since a model is on one backend. */
export function forwardParts(
  { model, cache, graph }: ForwardStepsOptions,
  arrays: ForwardArrays,
  head: Head,
): StepPart<ForwardArrays>[] {
  const { backend } = model;
  return [
    {
      backend,
      graph,
      record(_step, input) {
        const ids = input('ids');
        const batch = batchInputs(input, arrays);
        const outputs = recordHead(backend, model.forward(ids, batch, cache), head, input);
        const chains = (head === 'argmax' || head === 'sampled') && arrays.ids.length === 1;
        if (!graph || !chains) return { outputs };
        const chain = chainRule(ids, batch, outputs.best!, head === 'sampled' ? [input('draws')] : []);
        return { outputs, chain };
      },
    },
  ];
}

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
