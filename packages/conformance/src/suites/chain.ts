import {
  type Backend,
  type CapturedGraph,
  type ChainRule,
  integers,
  need,
  random,
  type Tensor,
} from '@quern/core';
import type { Case, Suite } from '../case.js';
import { floats, fresh, loadValues } from '../ops/fresh.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('chain');

/** States, and positions at which they move differently. */
const [V, P] = [16, 12];
const most = 8;

/** Whole numbers, so that their sums are exact on any device. */
function scores(rows: number, seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: rows * V }, () => Math.floor(1000 * next()));
}

const [moves, shifts] = [scores(V, 1), scores(P, 2)];

/** What follows a state at a position: argmax(moves[state] + shifts[position]). */
function follow(state: number, position: number): number {
  let best = 0;
  const score = (i: number) => moves[state * V + i]! + shifts[position * V + i]!;
  for (let i = 1; i < V; i++) if (score(i) > score(best)) best = i;
  return best;
}

/** States of `count` steps, row by row, from `states` at `positions`. */
function path(states: readonly number[], positions: readonly number[], count: number): number[] {
  const all: number[] = [];
  let now = states;
  for (let step = 0; step < count; step++) {
    now = now.map((state, i) => follow(state, positions[i]! + step));
    all.push(...now);
  }
  return all;
}

interface Walk {
  readonly graph: CapturedGraph;
  readonly states: Tensor;
  readonly positions: Tensor;
  readonly next: Tensor;
}

/** A graph that moves some states one step on, and chains. */
async function walk(
  backend: Backend,
  states: readonly number[],
  positions: readonly number[],
): Promise<Walk> {
  need(backend, 'graph');
  const table = await loadValues(backend, moves, [V, V]);
  const shift = await loadValues(backend, shifts, [P, V]);
  const step = backend.step();
  const from = step.input(Int32Array.from(states));
  const at = step.input(Int32Array.from(positions));
  const next = backend.argmax(backend.add(backend.embed(table, from), backend.embed(shift, at)));
  const chain: ChainRule = { output: next, feed: from, advance: [at], most };
  return { graph: backend.graph.capture(step, { chain }), states: from, positions: at, next };
}

/** A graph that draws what follows a state, each time with the next of some random numbers. */
async function drawing(backend: Backend) {
  need(backend, 'graph');
  const table = await loadValues(backend, moves, [V, V]);
  const step = backend.step();
  const state = step.input(Int32Array.of(3));
  const settings = step.input(Float32Array.of(2000, 0, 1, Number.NEGATIVE_INFINITY), [1, 4]);
  const random = step.input(Int32Array.from(integers(7, [2 * most], 2 ** 31).values), [most, 2]);
  const draws = step.input(Int32Array.of(0));
  const next = backend.sample(backend.embed(table, state), settings, random, draws);
  const chain: ChainRule = { output: next, feed: state, advance: [draws], most };
  return { graph: backend.graph.capture(step, { chain }), state, draws, next };
}

function same(label: string, got: ArrayLike<number>, want: readonly number[]): void {
  ensure(
    got.length === want.length && want.every((value, i) => value === got[i]),
    `${label} should be ${want.join()}; got ${Array.from(got).join()}`,
  );
}

const results: readonly Case[] = [
  on('every count gives what as many replays give', async (backend) => {
    for (let count = 1; count <= most; count++) {
      const { graph, next } = await walk(backend, [3], [1]);
      const want = path([3], [1], count);
      same(`a chain of ${count}`, await graph.replayChain({ count }), want);
      same('the output', graph.read(next), want.slice(-1));
    }
  }),
  on('several words at once', async (backend) => {
    const { graph } = await walk(backend, [3, 9, 3], [1, 0, 4]);
    same('three states', await graph.replayChain({ count: 5 }), path([3, 9, 3], [1, 0, 4], 5));
  }),
  on('each replay draws with the next random number', async (backend) => {
    const { graph, state, draws, next } = await drawing(backend);
    const want: number[] = [];
    for (let draw = 0; draw < most; draw++) {
      graph.write(draws, Int32Array.of(draw));
      if (draw > 0) graph.write(state, Int32Array.of(want[draw - 1]!));
      await graph.replay();
      want.push(graph.read(next)[0]!);
    }
    for (let count = 1; count <= most; count++) {
      const again = await drawing(backend);
      same(`a chain of ${count} draws`, await again.graph.replayChain({ count }), want.slice(0, count));
    }
  }),
  on('inputs stay as the last replay found them', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    const want = path([3], [1], 4);
    await graph.replayChain({ count: 4 });
    same('the same step again', await graph.replayChain({ count: 1 }), want.slice(-1));
  }),
  on('writes between chains', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [1]);
    const first = await graph.replayChain({ count: 4 });
    graph.write(states, first.subarray(3));
    graph.write(positions, Int32Array.of(5));
    same('going on', await graph.replayChain({ count: 4 }), path([3], [1], 8).slice(4));
    same('what the first gave', first, path([3], [1], 4));
  }),
  on('a replay and a chain by turns', async (backend) => {
    const a = await walk(backend, [3], [1]);
    const b = await walk(backend, [7], [0]);
    const [chain, , other] = await Promise.all([
      a.graph.replayChain({ count: 6 }),
      b.graph.replay(),
      b.graph.replayChain({ count: 6 }),
    ]);
    same('the chain', chain, path([3], [1], 6));
    same('the other', other, path([7], [0], 6));
  }),
];

const stops: readonly Case[] = [
  on('a stop ends it, with the word that stopped it', async (backend) => {
    const whole = path([3], [1], most);
    for (const [i, word] of whole.entries()) {
      if (whole.indexOf(word) < i) continue;
      const { graph } = await walk(backend, [3], [1]);
      const stopped = await graph.replayChain({ count: most, stops: Int32Array.of(-1, word) });
      same(`stopping at ${word}`, stopped, whole.slice(0, i + 1));
    }
  }),
  on('a stop in any of several words', async (backend) => {
    const [states, positions] = [
      [3, 9, 12],
      [1, 0, 4],
    ];
    const whole = path(states!, positions!, most);
    const word = whole[5]!; // the last of the second step
    const replays = Math.floor(whole.indexOf(word) / 3) + 1;
    const { graph } = await walk(backend, states!, positions!);
    const stopped = await graph.replayChain({ count: most, stops: Int32Array.of(word) });
    same(`stopping at ${word}`, stopped, whole.slice(0, 3 * replays));
  }),
  on('a stop holds for one chain', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [1]);
    const whole = path([3], [1], most);
    await graph.replayChain({ count: most, stops: Int32Array.of(whole[0]!) });
    graph.write(states, Int32Array.of(3));
    graph.write(positions, Int32Array.of(1));
    same('the next', await graph.replayChain({ count: most }), whole);
  }),
];

const endings: readonly Case[] = [
  on('an index that grows out of range', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [P - 2]);
    await refusal('OUT_OF_RANGE', () => graph.replayChain({ count: 3 }));
    graph.write(states, Int32Array.of(3));
    graph.write(positions, Int32Array.of(1));
    same('the chain after', await graph.replayChain({ count: 3 }), path([3], [1], 3));
  }),
  on('an abort before a chain', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    await refusal('ABORTED', () => graph.replayChain({ count: 2, signal: AbortSignal.abort() }));
    same('the chain after', await graph.replayChain({ count: 2 }), path([3], [1], 2));
  }),
  on('an abort between two replays of a chain', async (backend) => {
    for (const replays of [500, 5000, 50_000, 500_000, 2_000_000]) // a busy machine may be slow to send the signal
      if (await abortsChain(backend, replays)) return proveUsable(backend);
    throw new Error('chains of 2000000 replays ended before they saw their signal');
  }),
  on('a graph after dispose', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    graph.dispose();
    await refusal('DISPOSED', () => graph.replayChain({ count: 1 }));
    await proveUsable(backend);
  }),
];

/** A chain of short replays that is aborted while it runs. Gives false where it had ended by then. */
async function abortsChain(backend: Backend, replays: number): Promise<boolean> {
  need(backend, 'graph');
  const table = await loadValues(backend, moves, [V, V]);
  const step = backend.step();
  const from = step.input(Int32Array.of(3));
  const next = backend.argmax(backend.embed(table, from));
  const graph = backend.graph.capture(step, {
    chain: { output: next, feed: from, advance: [], most: replays },
  });
  const controller = new AbortController();
  setImmediate(() => controller.abort());
  const [end] = await Promise.allSettled([graph.replayChain({ count: replays, signal: controller.signal })]);
  if (end.status === 'fulfilled') return false;
  await refusal('ABORTED', () => Promise.reject(end.reason));
  return true;
}

const mistakes: readonly Case[] = [
  on('rules that do not fit', async (backend) => {
    need(backend, 'graph');
    const { graph } = backend;
    const weight = await loadValues(backend, moves, [V, V]);
    const refused = (code: Parameters<typeof refusal>[0], change: (fit: ChainRule & Others) => ChainRule) => {
      const step = backend.step();
      const feed = step.input(Int32Array.of(1));
      const pair = step.input(Int32Array.of(1, 2));
      const x = step.input(floats(1));
      const rows = backend.embed(weight, feed); // [1, V], not kept
      const inner = backend.argmax(rows);
      const output = backend.argmax(backend.embed(weight, inner));
      backend.silu(x);
      backend.embed(weight, pair);
      const rule = change({ output, feed, advance: [], most: 2, inner, rows, x, pair });
      return refusal(code, () => graph.capture(step, { chain: rule }));
    };
    await refused('BAD_DTYPE', (fit) => ({ ...fit, output: fit.rows }));
    await refused('NOT_KEPT', (fit) => ({ ...fit, output: fit.inner }));
    await refused('BAD_SHAPE', (fit) => ({ ...fit, feed: fit.pair }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, feed: fit.output }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, advance: [fit.output] }));
    await refused('BAD_DTYPE', (fit) => ({ ...fit, advance: [fit.x] }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, most: 0 }));
    await proveUsable(backend);
  }),
  on('counts out of range', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    for (const count of [0, -1, 1.5, most + 1])
      await refusal('BAD_ARGUMENT', () => graph.replayChain({ count }));
    same('the chain after', await graph.replayChain({ count: most }), path([3], [1], most));
  }),
  on('a graph without a rule', async (backend) => {
    need(backend, 'graph');
    const step = backend.step();
    backend.silu(step.input(floats(1)));
    const graph = backend.graph.capture(step);
    await refusal('BAD_ARGUMENT', () => graph.replayChain({ count: 1 }));
  }),
];

interface Others {
  readonly inner: Tensor;
  readonly rows: Tensor;
  readonly x: Tensor;
  readonly pair: Tensor;
}

/** Chains of replays: the same as replays one by one. */
export const chain: Suite = ({ backend }) =>
  backend.graph ? [...results, ...stops, ...endings, ...mistakes] : [];
