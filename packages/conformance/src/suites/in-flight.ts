import { type Backend, type CapturedGraph, type HostArray, need, type Tensor } from '@quern/core';
import type { Case, Suite } from '../case.js';
import { fresh, loadValues } from '../ops/fresh.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('inFlight');

const width = 64;

interface Doubling {
  readonly graph: CapturedGraph;
  readonly x: Tensor;
  readonly y: Tensor;
}

/** A graph of y = 2x for x [width], through `ops` products with the identity. */
async function doubling(backend: Backend, ops = 4): Promise<Doubling> {
  need(backend, 'graph');
  const one = await loadValues(backend, identity(), [width, width]);
  const step = backend.step();
  const x = step.input(new Float32Array(width), [1, width]);
  let y: Tensor = backend.add(x, x);
  for (let i = 0; i < ops; i++) y = backend.linear(y, one);
  step.keep(y);
  return { graph: await backend.graph.capture(step), x, y };
}

function identity(): Float32Array {
  const values = new Float32Array(width * width);
  for (let i = 0; i < width; i++) values[i * width + i] = 1;
  return values;
}

const filled = (value: number): Float32Array => new Float32Array(width).fill(value);

function needDoubled(label: string, got: HostArray, x: ArrayLike<number>): void {
  const at = got.findIndex((value, i) => value !== 2 * x[i]!);
  ensure(at < 0, `${label}: element ${at} should be ${2 * x[at]!}; got ${got[at]}`);
}

const replays: readonly Case[] = [
  on('replays requested together use the inputs at their call', async (backend) => {
    const { graph, x, y } = await doubling(backend);
    const found = [1, 2, 3, 4, 5, 6, 7, 8].map(async (value) => {
      graph.write(x, filled(value));
      await graph.replay();
      return graph.read(y).slice();
    });
    for (const [i, got] of (await Promise.all(found)).entries())
      needDoubled(`replay ${i}`, got, filled(i + 1));
  }),
  on('replays and steps settle in call order', async (backend) => {
    const [long, short] = [await doubling(backend, 60), await doubling(backend, 1)];
    const order: string[] = [];
    const run = (name: string, begun: Promise<void>) => begun.then(() => order.push(name));
    const step = backend.step();
    step.keep(backend.silu(step.input(filled(1))));
    await Promise.all([
      run('long', long.graph.replay()),
      run('short', short.graph.replay()),
      run('step', step.run()),
      run('short again', short.graph.replay()),
    ]);
    ensure(order.join() === 'long,short,step,short again', `they settled in the order ${order.join()}`);
  }),
  on('parts of an input, written one by one', async (backend) => {
    const { graph, x, y } = await doubling(backend);
    const want = filled(1);
    graph.write(x, want);
    await graph.replay();
    const parts: readonly (readonly [at: number, count: number])[] = [
      [60, 4],
      [0, 1],
      [8, 8],
      [12, 8],
      [20, 4],
      [3, 0],
      [1, 2],
    ];
    for (const [value, [at, count]] of parts.entries()) {
      want.fill(value + 2, at, at + count);
      graph.write(x, want.slice(at, at + count), at);
      if (value % 3 === 0) await graph.replay(); // some replays run together
    }
    await graph.replay();
    needDoubled('all parts', graph.read(y), want);
    await refusal('BAD_SHAPE', () => graph.write(x, filled(1), 1));
    for (const at of [-1, 0.5]) await refusal('BAD_ARGUMENT', () => graph.write(x, filled(1), at));
  }),
  on('a write during a replay applies to the next replay', async (backend) => {
    const { graph, x, y } = await doubling(backend, 40);
    graph.write(x, filled(1));
    const running = graph.replay();
    graph.write(x, filled(5));
    await running;
    needDoubled('the replay under way', graph.read(y), filled(1));
    graph.write(x, filled(7), 0);
    graph.write(x, Float32Array.of(9), 3);
    await graph.replay();
    needDoubled('the next', graph.read(y), filled(7).fill(9, 3, 4));
  }),
];

/** Requests four replays and aborts the second: whether it was refused, where the others have their values. */
async function secondIsAborted(backend: Backend, ops: number): Promise<boolean> {
  const { graph, x, y } = await doubling(backend, ops);
  const controller = new AbortController();
  const results: Promise<HostArray>[] = [];
  for (const value of [1, 2, 3, 4]) {
    graph.write(x, filled(value));
    const replay = graph.replay(value === 2 ? { signal: controller.signal } : {});
    results.push(replay.then(() => graph.read(y).slice()));
  }
  controller.abort();
  const ends = await Promise.allSettled(results);
  const aborted = ends[1]!.status === 'rejected';
  for (const [i, end] of ends.entries())
    if (i === 1 && aborted) await refusal('ABORTED', () => settle(end));
    else needDoubled(`replay ${i}`, (await settle(end))!, filled(i + 1));
  graph.dispose();
  return aborted;
}

const endings: readonly Case[] = [
  on('a failing plan, and the plans behind it', async (backend) => {
    const { graph, x, y } = await doubling(backend);
    const table = await loadValues(backend, filled(1), [width, 1]);
    const bad = backend.step();
    backend.embed(table, bad.input(Int32Array.of(width)));
    graph.write(x, filled(3));
    const [before, failing, after] = await Promise.allSettled([graph.replay(), bad.run(), graph.replay()]);
    ensure(before.status === 'fulfilled', 'the plan before it should run');
    await refusal('OUT_OF_RANGE', () => settle(failing));
    ensure(after.status === 'fulfilled', 'the plan behind it should run');
    needDoubled('the plan behind it', graph.read(y), filled(3));
  }),
  on('the abort of one replay does not stop the others', async (backend) => {
    // a fast device may end the second replay before the abort: longer graphs leave no time for that
    for (const ops of [40, 400, 4000]) if (await secondIsAborted(backend, ops)) return;
    throw new Error('the replay that was aborted behind another should be refused; it ran to its end');
  }),
  on('an abort of all replays', async (backend) => {
    const { graph, x, y } = await doubling(backend, 40);
    const controller = new AbortController();
    const running = [1, 2, 3, 4].map(() => graph.replay({ signal: controller.signal }));
    controller.abort();
    const ends = await Promise.allSettled(running);
    for (const end of ends.slice(2)) await refusal('ABORTED', () => settle(end)); // had not started
    graph.write(x, filled(6));
    await graph.replay();
    needDoubled('the replay after', graph.read(y), filled(6));
  }),
  on('a graph disposed with replays under way', async (backend) => {
    const { graph } = await doubling(backend, 40);
    const running = [1, 2, 3, 4].map(() => graph.replay());
    graph.dispose();
    for (const end of await Promise.allSettled(running))
      if (end.status === 'rejected') await refusal('DISPOSED', () => settle(end));
    await proveUsable(backend);
  }),
  on('a weight freed with replays under way', async (backend) => {
    need(backend, 'graph');
    const weight = await loadValues(backend, identity(), [width, width]);
    const step = backend.step();
    const y = backend.linear(step.input(filled(2), [1, width]), weight);
    step.keep(y);
    const graph = await backend.graph.capture(step);
    const running = [graph.replay(), graph.replay()];
    weight.dispose();
    for (const end of await Promise.allSettled(running))
      if (end.status === 'rejected') await refusal('DISPOSED', () => settle(end));
    await proveUsable(backend);
  }),
  on('a backend disposed with plans under way', async (backend) => {
    const { graph } = await doubling(backend, 40);
    const running = [graph.replay(), graph.replay(), graph.replay()];
    backend.dispose();
    for (const end of await Promise.allSettled(running))
      if (end.status === 'rejected') await refusal('DISPOSED', () => settle(end));
    await refusal('DISPOSED', () => graph.replay());
  }),
  on('a graph with a weight freed during capture', async (backend) => {
    need(backend, 'graph');
    const weight = await loadValues(backend, identity(), [width, width]);
    const step = backend.step();
    backend.linear(step.input(filled(1), [1, width]), weight);
    const capturing = backend.graph.capture(step);
    weight.dispose();
    await refusal('DISPOSED', () => capturing);
    await proveUsable(backend);
  }),
];

/** Value of a settled promise, or its rejection. */
const settle = async <T>(end: PromiseSettledResult<T>): Promise<T> =>
  end.status === 'fulfilled' ? end.value : Promise.reject(end.reason);

/** Plans requested before the first has ended: as many in flight as the driver allows. */
export const inFlight: Suite = ({ backend }) => (backend.graph ? [...replays, ...endings] : []);
