import { type KvDtype, type Rule, rules, type Schema } from '@quern/core';
import type { LayerRange } from '@quern/models';
import { loadSchema } from '../model/load-options.js';

/** What the caller wants of a plan. */
export interface PlanRequest {
  /** The caller chose the devices: each computes at least one layer, in the order given; default false. */
  readonly named?: boolean | undefined;
  /** The layers of each device, in the order of the devices. Absent: the planner chooses. */
  readonly ranges?: readonly LayerRange[] | undefined;
  /** Tokens of context of one sequence. Absent: the most that makes sense, see `defaultContext`. */
  readonly context?: number | undefined;
  readonly cacheDtype: KvDtype;
  /** Sequences that the cache holds at once, each of the whole context. */
  readonly sequences: number;
  /** Most rows of one step. */
  readonly prefillChunk: number;
}

const layerRange: Rule<LayerRange> = {
  must: 'a range of layers, { from, to }',
  holds: (value): value is LayerRange =>
    rules.isObject(value) && typeof value.from === 'number' && typeof value.to === 'number',
};

/** Of each option: what it must be, and its default. */
export const planSchema = {
  named: {
    ...rules.flag,
    about: 'the caller chose the devices: each computes at least one layer',
    byDefault: false,
  },
  ranges: {
    ...rules.listOf('ranges of layers, { from, to }', layerRange),
    about: 'the layers of each device, in order',
    absent: 'the planner chooses',
  },
  context: loadSchema.context,
  cacheDtype: { ...loadSchema.cacheDtype, required: true },
  sequences: { ...loadSchema.sequences, required: true },
  prefillChunk: { ...loadSchema.prefillChunk, required: true },
} as const satisfies Schema<PlanRequest>;
