import { type BatchArrays, type KvPlaces, type RepeatedStep, writeBatch } from '@quern/core';
import type { Batch, SequenceRows } from '../batch.js';
import { sizeOf } from '../batch.js';
import { writeSampling } from '../sampling/record.js';
import { writeRowAdapters } from './adapter-arrays.js';
import type { ForwardArrays, RunnerOptions } from './forward-parts.js';

/** The sequence of some rows as the cache sees it: it ends with them. */
class Places implements KvPlaces {
  readonly length: number;
  readonly blockTable: readonly number[];
  readonly states: readonly [read: number, write: number] | undefined;

  constructor(
    { start, tokens, blocks, states }: SequenceRows,
    private readonly blockSize: number,
  ) {
    this.length = start + tokens.length;
    this.blockTable = blocks;
    this.states = states;
  }

  /** −1, no slot, for a sequence without blocks. */
  slot(position: number): number {
    const block = this.blockTable[Math.floor(position / this.blockSize)];
    return block === undefined ? -1 : block * this.blockSize + (position % this.blockSize);
  }
}

export const kvPlaces = (rows: SequenceRows, blockSize: number): KvPlaces => new Places(rows, blockSize);

const noStates = [-1, -1] as const;

/** A sequence of one token that is not in the cache: its row reads the first slot and writes none. */
const idle: SequenceRows = { start: 0, tokens: [0], blocks: [], outputs: 1 };

/** A batch of one row per sequence, with idle rows up to a size that recurs. */
export function withIdleRows(batch: Batch): Batch {
  const size = sizeOf(batch.length);
  return size === batch.length
    ? batch
    : [...batch, ...Array.from({ length: size - batch.length }, () => idle)];
}

/** Writes a batch into a step of its shape. `steps`: of a chain; otherwise 1. */
export function writeRows(
  step: RepeatedStep<ForwardArrays>,
  batch: Batch,
  steps: number,
  blockSize: number,
): void {
  const { ids, settings, places } = step.arrays;
  let t = 0;
  for (const { tokens } of batch) for (const token of tokens) ids[t++] = token;
  step.write('ids');
  writeBatch(
    step,
    batch.map((rows) => ({ sequence: kvPlaces(rows, blockSize), start: rows.start, tokens: rows.tokens })),
  );
  if (settings.length > 0) writeSampling(step, batch, steps);
  if (places.length > 0) writeRowAdapters(step, batch);
}

/** Inputs of a step for any T rows of fewer than S sequences, R rows with outputs. The last sequence has the idle rows. */
export function mixedArrays(
  { cache }: RunnerOptions,
  S: number,
  T: number,
  R: number,
): BatchArrays & { readonly ids: Int32Array } {
  return {
    ids: new Int32Array(T),
    positions: new Int32Array(T),
    cuSeqlens: new Int32Array(S + 1).fill(T, 1),
    kvLengths: new Int32Array(S),
    slots: new Int32Array(T).fill(-1),
    blockTable: new Int32Array(S * cache.maxBlocks),
    lastRows: new Int32Array(R),
    states: new Int32Array(cache.hasStates ? 2 * S : 0).fill(-1),
  };
}

/**
 * Writes a batch into a step of `mixedArrays`. Sequences after the batch have no rows. Idle rows belong to the last
 * sequence: they read the first slots of the cache and write none (slot −1).
 */
export function writeMixed(step: RepeatedStep<ForwardArrays>, batch: Batch, blockSize: number): void {
  const { arrays } = step;
  const T = arrays.ids.length;
  let t = 0;
  let r = 0;
  for (let s = 0; s < batch.length; s++) {
    const { outputs } = batch[s]!;
    t = writeSequence(step, batch[s]!, kvPlaces(batch[s]!, blockSize), s, t);
    if (arrays.lastRows.length > 0) for (let row = t - outputs; row < t; row++) arrays.lastRows[r++] = row;
  }
  const S = arrays.kvLengths.length;
  arrays.cuSeqlens.fill(t, batch.length + 1, S);
  arrays.kvLengths.fill(0, batch.length, S - 1);
  arrays.kvLengths[S - 1] = T - t;
  for (let row = t; row < T; row++) {
    arrays.ids[row] = 0;
    arrays.positions[row] = row - t;
    arrays.slots[row] = -1;
  }
  arrays.lastRows.fill(T - 1, r);
  if (arrays.states.length > 0) {
    arrays.states.fill(-1, 2 * batch.length);
    step.write('states');
  }
  step.write('ids', 'positions', 'cuSeqlens', 'kvLengths', 'slots', 'lastRows');
  if (arrays.settings.length > 0) writeSampling(step, batch, 1);
  if (arrays.places.length > 0) writeRowAdapters(step, batch);
}

/** Writes sequence `s`, whose first row is `t`. Returns the row after its last one. */
function writeSequence(
  step: RepeatedStep<ForwardArrays>,
  { start, tokens }: SequenceRows,
  places: KvPlaces,
  s: number,
  t: number,
): number {
  const { arrays } = step;
  for (let i = 0; i < tokens.length; i++) {
    arrays.ids[t + i] = tokens[i]!;
    arrays.positions[t + i] = start + i;
    arrays.slots[t + i] = places.slot(start + i);
  }
  const end = t + tokens.length;
  arrays.cuSeqlens[s + 1] = end;
  arrays.kvLengths[s] = places.length;
  if (arrays.states.length > 0) arrays.states.set(places.states ?? noStates, 2 * s);
  step.change('blockTable', places.blockTable, s * (arrays.blockTable.length / arrays.kvLengths.length));
  return end;
}
