import {
  type Backend,
  type CapturedGraph,
  type ChainRule,
  need,
  type SlotRule,
  type Tensor,
} from '@quern/core';
import { integers } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import { floats, fresh, loadValues } from '../ops/fresh.js';
import { refusal } from '../values/refusal.js';
import { listening, rows } from './chain-listener.js';
import {
  limits,
  most,
  moves,
  P,
  path,
  run,
  same,
  sameRows,
  slotAt,
  slotWalk,
  V,
  walk,
} from './chain-walk.js';
import { proveUsable } from './errors.js';

const on = fresh('chain');

/** A graph that draws the next state, each time with the next random number. */
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
  return { graph: await backend.graph.capture(step, { chain }), state, draws, next };
}

const results: readonly Case[] = [
  on('every limit n gives the result of n replays', async (backend) => {
    for (let count = 1; count <= most; count++) {
      const { graph, next } = await walk(backend, [3], [1]);
      const want = path(3, 1, count);
      sameRows(await run(graph, { limits: limits(count) }), [want]);
      same('the output', graph.read(next), want.slice(-1));
    }
  }),
  on('several rows at once', async (backend) => {
    const { graph } = await walk(backend, [3, 9, 3], [1, 0, 4]);
    const want = [path(3, 1, 5), path(9, 0, 5), path(3, 4, 5)];
    sameRows(await run(graph, { limits: limits(5, 5, 5) }), want);
  }),
  on('each row has its own limit', async (backend) => {
    const { graph } = await walk(backend, [3, 9, 3], [1, 0, 4]);
    const want = [path(3, 1, 2), path(9, 0, 6), path(3, 4, 1)];
    sameRows(await run(graph, { limits: limits(2, 6, 1) }), want);
  }),
  on('a row that has ended repeats its last step', async (backend) => {
    const { graph, next } = await walk(backend, [3, 9], [1, 0]);
    const { tokens } = await graph.replayChain({ limits: limits(2, 6) });
    const last = path(3, 1, 2)[1]!;
    same('its tokens', Array.from({ length: 6 }, (_, i) => tokens[2 * i]!).slice(1), Array(5).fill(last));
    await graph.replay();
    same('both rows, once more', graph.read(next), [last, path(9, 0, 6)[5]!]);
  }),
  on('slots follow from positions and block tables', async (backend) => {
    const graph = await slotWalk(backend, [3, 9], [0, 1]);
    const want = [path(3, 0, 6, slotAt(0)), path(9, 1, 3, slotAt(1))];
    sameRows(await run(graph, { limits: limits(6, 3) }), want);
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
      sameRows(await run(again.graph, { limits: limits(count) }), [want.slice(0, count)]);
    }
  }),
  on('inputs stay as the last replay found them', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    const want = path(3, 1, 4);
    await graph.replayChain({ limits: limits(4) });
    sameRows(await run(graph, { limits: limits(1) }), [want.slice(-1)]);
  }),
  on('a write between chains replaces inputs that grew', async (backend) => {
    const { graph, states } = await walk(backend, [3, 9], [1, 0]);
    await graph.replayChain({ limits: limits(3, 3) });
    graph.write(states, Int32Array.of(5), 1); // only row 1
    const want = [[path(3, 1, 3)[2]!, ...path(path(3, 1, 3)[2]!, 4, 2)], path(5, 2, 3)];
    sameRows(await run(graph, { limits: limits(3, 3) }), want);
  }),
  on('writes between chains', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [1]);
    const first = await graph.replayChain({ limits: limits(4) });
    graph.write(states, first.tokens.subarray(3));
    graph.write(positions, Int32Array.of(5));
    sameRows(await run(graph, { limits: limits(4) }), [path(3, 1, 8).slice(4)]);
    same('what the first gave', first.tokens, path(3, 1, 4));
  }),
  on('chains in sequence, requested together', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [1]);
    const first = [3, 7, 5];
    const chains = first.map((state) => {
      graph.write(states, Int32Array.of(state));
      graph.write(positions, Int32Array.of(2));
      return run(graph, { limits: limits(5) });
    });
    const found = await Promise.all(chains);
    for (const [i, state] of first.entries()) sameRows(found[i]!, [path(state, 2, 5)]);
  }),
  on('replays and chains in alternation', async (backend) => {
    const a = await walk(backend, [3], [1]);
    const b = await walk(backend, [7], [0]);
    const [chain, , other] = await Promise.all([
      run(a.graph, { limits: limits(6) }),
      b.graph.replay(),
      run(b.graph, { limits: limits(6) }),
    ]);
    sameRows(chain, [path(3, 1, 6)]);
    sameRows(other, [path(7, 0, 6)]);
  }),
];

const stops: readonly Case[] = [
  on('a stop ends a row, the stop token included', async (backend) => {
    const whole = path(3, 1, most);
    for (const [i, word] of whole.entries()) {
      if (whole.indexOf(word) < i) continue;
      const { graph } = await walk(backend, [3], [1]);
      const stopped = await run(graph, { limits: limits(most), stops: Int32Array.of(-1, word) });
      sameRows(stopped, [whole.slice(0, i + 1)]);
    }
  }),
  on('a stop of one row does not stop the others', async (backend) => {
    const rows = [path(3, 1, most), path(9, 0, most), path(12, 4, most)];
    const word = rows[1]![2]!;
    const want = rows.map((row) => (row.includes(word) ? row.slice(0, row.indexOf(word) + 1) : row));
    const { graph } = await walk(backend, [3, 9, 12], [1, 0, 4]);
    const all = limits(most, most, most);
    sameRows(await run(graph, { limits: all, stops: Int32Array.of(word) }), want);
  }),
  on('a stop holds for one chain', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [1]);
    const whole = path(3, 1, most);
    await graph.replayChain({ limits: limits(most), stops: Int32Array.of(whole[0]!) });
    graph.write(states, Int32Array.of(3));
    graph.write(positions, Int32Array.of(1));
    sameRows(await run(graph, { limits: limits(most) }), [whole]);
  }),
  on('a limit lowered while the chain runs', async (backend) => {
    for (const replays of longChains) if (await lowersLimit(backend, replays)) return proveUsable(backend);
    throw new Error(`chains of ${longChains.at(-1)} replays ended before they saw their lower limit`);
  }),
];

const endings: readonly Case[] = [
  on('an index that grows out of range', async (backend) => {
    const { graph, states, positions } = await walk(backend, [3], [P - 2]);
    await refusal('OUT_OF_RANGE', () => graph.replayChain({ limits: limits(3) }));
    graph.write(states, Int32Array.of(3));
    graph.write(positions, Int32Array.of(1));
    sameRows(await run(graph, { limits: limits(3) }), [path(3, 1, 3)]);
  }),
  on('a position beyond the block table', async (backend) => {
    const graph = await slotWalk(backend, [3, 9], [0, 4]);
    await refusal('OUT_OF_RANGE', () => graph.replayChain({ limits: limits(3, 3) }));
    await proveUsable(backend);
  }),
  on('an abort before a chain', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    await refusal('ABORTED', () => graph.replayChain({ limits: limits(2), signal: AbortSignal.abort() }));
    sameRows(await run(graph, { limits: limits(2) }), [path(3, 1, 2)]);
  }),
  on('an abort between two replays of a chain', async (backend) => {
    for (const replays of longChains) if (await abortsChain(backend, replays)) return proveUsable(backend);
    throw new Error(`chains of ${longChains.at(-1)} replays ended before they saw their signal`);
  }),
  on('a graph after dispose', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    graph.dispose();
    await refusal('DISPOSED', () => graph.replayChain({ limits: limits(1) }));
    await proveUsable(backend);
  }),
];

/** Lengths of chains to be observed while running; a busy machine may react slowly. */
const longChains = [500, 5000, 50_000, 500_000, 2_000_000];

/** A chain of short replays. */
async function longChain(backend: Backend, replays: number): Promise<CapturedGraph> {
  need(backend, 'graph');
  const table = await loadValues(backend, moves, [V, V]);
  const step = backend.step();
  const from = step.input(Int32Array.of(3));
  const next = backend.argmax(backend.embed(table, from));
  return backend.graph.capture(step, { chain: { output: next, feed: from, advance: [], most: replays } });
}

/** Aborts a running chain. Returns false if it had already ended. */
async function abortsChain(backend: Backend, replays: number): Promise<boolean> {
  const graph = await longChain(backend, replays);
  const controller = new AbortController();
  setImmediate(() => controller.abort());
  const running = graph.replayChain({ limits: limits(replays), signal: controller.signal });
  const [end] = await Promise.allSettled([running]);
  if (end.status === 'fulfilled') return false;
  await refusal('ABORTED', () => Promise.reject(end.reason));
  return true;
}

/** Lowers a running chain's limit. Returns false if it had already ended. */
async function lowersLimit(backend: Backend, replays: number): Promise<boolean> {
  const graph = await longChain(backend, replays);
  const lowered = limits(replays);
  setImmediate(() => lowered.fill(0));
  const { tokens, counts } = await graph.replayChain({ limits: lowered });
  same('the tokens that count', [tokens.length], [counts[0]!]);
  return counts[0]! < replays;
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
      const blockTable = step.input(Int32Array.of(1, 2), [1, 2]);
      const x = step.input(floats(1));
      const rows = backend.embed(weight, feed); // [1, V], not kept
      const inner = backend.argmax(rows);
      const output = backend.argmax(backend.embed(weight, inner));
      backend.silu(x);
      backend.embed(weight, pair);
      const slots = { slots: feed, positions: feed, blockTable, blockSize: 2 };
      const rule = change({ output, feed, advance: [], most: 2, inner, rows, x, pair, slots });
      return refusal(code, () => graph.capture(step, { chain: rule }));
    };
    await refused('BAD_DTYPE', (fit) => ({ ...fit, output: fit.rows }));
    await refused('NOT_KEPT', (fit) => ({ ...fit, output: fit.inner }));
    await refused('BAD_SHAPE', (fit) => ({ ...fit, feed: fit.pair }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, feed: fit.output }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, advance: [fit.output] }));
    await refused('BAD_DTYPE', (fit) => ({ ...fit, advance: [fit.x] }));
    await refused('BAD_SHAPE', (fit) => ({ ...fit, advance: [fit.pair] }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, most: 0 }));
    await refused('BAD_SHAPE', (fit) => ({ ...fit, slots: { ...fit.slots, slots: fit.pair } }));
    await refused('BAD_SHAPE', (fit) => ({ ...fit, slots: { ...fit.slots, blockTable: fit.pair } }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, slots: { ...fit.slots, positions: fit.output } }));
    await refused('BAD_ARGUMENT', (fit) => ({ ...fit, slots: { ...fit.slots, blockSize: 0 } }));
    await proveUsable(backend);
  }),
  on('limits that do not fit', async (backend) => {
    const { graph } = await walk(backend, [3], [1]);
    const wrong = [limits(0), limits(-1), limits(most + 1), limits(1, 1), limits(), Int32Array.of(1)];
    for (const one of wrong) await refusal('BAD_ARGUMENT', () => graph.replayChain({ limits: one }));
    sameRows(await run(graph, { limits: limits(most) }), [path(3, 1, most)]);
  }),
  on('a graph without a rule', async (backend) => {
    need(backend, 'graph');
    const step = backend.step();
    backend.silu(step.input(floats(1)));
    const graph = await backend.graph.capture(step);
    await refusal('BAD_ARGUMENT', () => graph.replayChain({ limits: limits(1) }));
  }),
];

interface Others {
  readonly inner: Tensor;
  readonly rows: Tensor;
  readonly x: Tensor;
  readonly pair: Tensor;
  readonly slots: SlotRule;
}

/** Chains of replays must equal single replays. */
export const chain: Suite = ({ backend }) =>
  backend.graph ? [...results, ...stops, ...rows, ...listening, ...endings, ...mistakes] : [];
