import { type KvDtype, type Rule, rules, type Schema } from '@quern/core';
import type { LayerRange } from '@quern/models';
import { loadSchema } from '../model/load-options.js';

/** Request for a plan. */
export interface PlanRequest {
  /** True: the caller chose the devices; each one computes at least one layer, in the order given. Default false. */
  readonly named?: boolean | undefined;
  /** The layers of each device, in the order of the devices. Absent: the planner chooses. */
  readonly ranges?: readonly LayerRange[] | undefined;
  /** Tokens of context per sequence. Absent: see `defaultRoom`. */
  readonly context?: number | undefined;
  /** Tokens of a block of the cache: a requested context takes whole blocks. Default 1. */
  readonly blockSize?: number | undefined;
  readonly cacheDtype: KvDtype;
  /** Sequences with the whole context that the cache holds. They share its room: one alone may take all of it. */
  readonly sequences: number;
  /** Most rows of one step. */
  readonly prefillChunk: number;
}

const layerRange: Rule<LayerRange> = {
  must: 'a range of layers, { from, to }',
  holds: (value): value is LayerRange =>
    rules.isObject(value) && typeof value.from === 'number' && typeof value.to === 'number',
};

/** What each option must be, and its default. */
export const planSchema = {
  named: {
    ...rules.flag,
    about: 'true: the caller chose the devices, and each one computes at least one layer',
    byDefault: false,
  },
  ranges: {
    ...rules.listOf('ranges of layers, { from, to }', layerRange),
    about: 'the layers of each device, in order',
    absent: 'the planner chooses',
  },
  context: loadSchema.context,
  blockSize: {
    ...rules.whole(1),
    about: 'tokens of a block of the cache: a requested context takes whole blocks',
    byDefault: 1,
  },
  cacheDtype: { ...loadSchema.cacheDtype, required: true },
  sequences: { ...loadSchema.sequences, required: true },
  prefillChunk: { ...loadSchema.prefillChunk, required: true },
} as const satisfies Schema<PlanRequest>;
