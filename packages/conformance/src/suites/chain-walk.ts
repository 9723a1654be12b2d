// A graph with a chain whose tokens are known: states of a walk.
import {
  type Backend,
  type CapturedGraph,
  type ChainOptions,
  type ChainRule,
  need,
  type SlotRule,
  type Tensor,
} from '@quern/core';
import { random } from '@quern/core/testing';
import { loadValues } from '../ops/fresh.js';
import { ensure } from '../values/refusal.js';

/** V states; P positions with different moves. */
export const [V, P] = [16, 12];
export const most = 8;

/** Whole numbers: their sums are exact on any device. */
function scores(rows: number, seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: rows * V }, () => Math.floor(1000 * next()));
}

export const [moves, shifts] = [scores(V, 1), scores(P, 2)];

/** Next state at a position: argmax(moves[state] + shifts[position]). */
function follow(state: number, position: number): number {
  let best = 0;
  const score = (i: number) => moves[state * V + i]! + shifts[position * V + i]!;
  for (let i = 1; i < V; i++) if (score(i) > score(best)) best = i;
  return best;
}

/** States of `count` steps of one row, from `state` at `position`. `at` maps a position to its slot. */
export function path(
  state: number,
  position: number,
  count: number,
  at = (p: number): number => p,
): number[] {
  const all: number[] = [];
  for (let step = 0; step < count; step++) all.push(follow(all.at(-1) ?? state, at(position + step)));
  return all;
}

/** Shared memory, as required for `limits`. */
export function limits(...counts: readonly number[]): Int32Array {
  const words = new Int32Array(new SharedArrayBuffer(4 * counts.length));
  words.set(counts);
  return words;
}

export interface Walk {
  readonly graph: CapturedGraph;
  readonly states: Tensor;
  readonly positions: Tensor;
  readonly next: Tensor;
}

/** A step with states and positions as inputs, and the tables that move the states. */
async function begun(backend: Backend, states: readonly number[], positions: readonly number[]) {
  need(backend, 'graph');
  const table = await loadValues(backend, moves, [V, V]);
  const shift = await loadValues(backend, shifts, [P, V]);
  const step = backend.step();
  const from = step.input(Int32Array.from(states));
  const at = step.input(Int32Array.from(positions));
  return { step, table, shift, from, at, graph: backend.graph };
}

/** A graph that moves each state one step, with a chain. */
export async function walk(
  backend: Backend,
  states: readonly number[],
  positions: readonly number[],
): Promise<Walk> {
  const { step, table, shift, from, at, graph } = await begun(backend, states, positions);
  const next = backend.argmax(backend.add(backend.embed(table, from), backend.embed(shift, at)));
  const chain: ChainRule = { output: next, feed: from, advance: [at], most };
  return { graph: await graph.capture(step, { chain }), states: from, positions: at, next };
}

const blockSize = 2;

/** Three blocks of a row of a walk. Positions of a row have slots of their own, and most rows another order of blocks. */
const blocksOf = (row: number): readonly number[] =>
  (row % 2 === 0 ? [4, 0, 2] : [0, 4, 2]).map((block) => (block + row) % 6);
export const slotAt = (row: number) => (position: number) =>
  blocksOf(row)[Math.floor(position / blockSize)]! * blockSize + (position % blockSize);

/** A graph whose states move by their slots, which follow from position and block table. Positions end at 5. */
export async function slotWalk(
  backend: Backend,
  states: readonly number[],
  positions: readonly number[],
): Promise<CapturedGraph> {
  const { step, table, shift, from, at, graph } = await begun(backend, states, positions);
  const slots = step.input(Int32Array.from(positions, (position, row) => slotAt(row)(position)));
  const blockTable = step.input(Int32Array.from(states.flatMap((_, row) => blocksOf(row))), [
    states.length,
    3,
  ]);
  const next = backend.argmax(backend.add(backend.embed(table, from), backend.embed(shift, slots)));
  const rule: SlotRule = { slots, positions: at, blockTable, blockSize };
  const chain: ChainRule = { output: next, feed: from, advance: [at], slots: rule, most };
  return graph.capture(step, { chain });
}

export function same(label: string, got: ArrayLike<number>, want: readonly number[]): void {
  ensure(
    got.length === want.length && want.every((value, i) => value === got[i]),
    `${label} should be ${want.join()}; got ${Array.from(got).join()}`,
  );
}

/** Runs a chain and returns each row's tokens up to its end. */
export async function run(graph: CapturedGraph, options: ChainOptions): Promise<number[][]> {
  const { tokens, counts } = await graph.replayChain(options);
  const rows = counts.length;
  same('the rows of the counts', [rows], [options.limits.length]);
  const replays = Math.max(...counts);
  same('the words of the tokens', [tokens.length], [replays * rows]);
  return Array.from(counts, (count, row) =>
    Array.from({ length: count }, (_, step) => tokens[step * rows + row]!),
  );
}

export function sameRows(got: readonly (readonly number[])[], want: readonly (readonly number[])[]): void {
  same('the number of rows', [got.length], [want.length]);
  for (const [row, tokens] of want.entries()) same(`row ${row}`, got[row]!, tokens);
}
