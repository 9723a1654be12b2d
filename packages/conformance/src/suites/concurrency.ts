import type { Backend, Step, Tensor, Weight } from '@quern/core';
import type { Suite } from '../case.js';
import { cacheOfBytes, fresh, loadValues } from '../ops/fresh.js';
import { ensure } from '../values/refusal.js';

const on = fresh('concurrency');

const side = 64;

/** The matrix n · identity. */
function diagonal(n: number): Float32Array {
  const values = new Float32Array(side * side);
  for (let i = 0; i < side; i++) values[i * side + i] = n;
  return values;
}

const load = (backend: Backend, n: number) => loadValues(backend, diagonal(n), [side, side]);

interface Product {
  readonly step: Step;
  readonly y: Tensor;
}

/** 1 · weight, then times `identity`, many times. */
function product(backend: Backend, weight: Weight, identity: Weight, ops: number): Product {
  const step = backend.step();
  let y: Tensor = backend.linear(step.input(new Float32Array(side).fill(1), [1, side]), weight);
  for (let i = 0; i < ops; i++) y = backend.linear(y, identity);
  step.keep(y);
  return { step, y };
}

async function needAll({ step, y }: Product, want: number): Promise<void> {
  const got = await step.read(y);
  const wrong = got.find((value) => value !== want);
  ensure(wrong === undefined, `a product of ones by ${want} should be ${want}; got ${wrong}`);
}

/** Milliseconds of the synchronous part of a call, without its promise. */
function timeCall(call: () => unknown): number {
  const start = performance.now();
  call();
  return performance.now() - start;
}

/** A run of at least some hundred milliseconds, and its duration. */
async function longRun(backend: Backend): Promise<{ begin: () => Promise<void>; took: number }> {
  const identity = await load(backend, 1);
  for (let ops = 500; ; ops *= 2) {
    const begin = () => product(backend, identity, identity, ops).step.run();
    const start = performance.now();
    await begin();
    const took = performance.now() - start;
    if (took > 200 || ops > 200_000) return { begin, took };
  }
}

const aWhile = 20;

/** Throws if every one of many calls blocked the event loop. Other work may block during single calls. */
function needQuick(what: string, calls: readonly (() => unknown)[]): void {
  const least = Math.min(...calls.map(timeCall));
  ensure(
    least < aWhile,
    `${what} blocks the event loop: the quickest of ${calls.length} calls took ${least} ms`,
  );
}

const small = 4096;

/** Requests during other work must not block the event loop. */
export const concurrency: Suite = () => [
  on('weights load while a plan runs', async (backend) => {
    const [two, identity] = [await load(backend, 2), await load(backend, 1)];
    const long = product(backend, two, identity, 500);
    const running = long.step.run();
    const loaded = await Promise.all([3, 4, 5].map((n) => load(backend, n)));
    await running;
    await needAll(long, 2);
    for (const [i, weight] of loaded.entries()) await needAll(product(backend, weight, identity, 1), 3 + i);
  }),
  on('a load waits for one plan at most, not for later plans', async (backend) => {
    const [two, identity] = [await load(backend, 2), await load(backend, 1)];
    let ended = 0;
    const runs = Array.from({ length: 40 }, () =>
      product(backend, two, identity, 50)
        .step.run()
        .then(() => ended++),
    );
    await runs[0];
    await load(backend, 3);
    const before = ended;
    await Promise.all(runs);
    ensure(before < runs.length, `a load requested beside ${runs.length} runs ended after the last run`);
  }),
  on('plans run while weights load', async (backend) => {
    const [two, identity] = [await load(backend, 2), await load(backend, 1)];
    const numbers = Array.from({ length: 60 }, (_, i) => i + 1);
    const loading = Promise.all(numbers.map((n) => load(backend, n)));
    await Promise.all([1, 2, 3].map(() => needAll(product(backend, two, identity, 20), 2)));
    for (const [i, weight] of (await loading).entries())
      await needAll(product(backend, weight, identity, 1), numbers[i]!);
  }),
  on('buffers are written and read while weights load', async (backend) => {
    const buffer = cacheOfBytes(backend, small);
    const loading = Promise.all([1, 2, 3].map((n) => load(backend, n)));
    await buffer.writeBlocks(0, new Uint8Array(small).fill(7));
    const bytes = await buffer.readBlocks(0);
    await loading;
    ensure(
      bytes.every((byte) => byte === 7),
      'a buffer written while weights load should have the written bytes',
    );
  }),
  on('allocate and free return at once', async (backend) => {
    const buffers = Array.from({ length: 10 }, () => cacheOfBytes(backend, small));
    needQuick(
      'memory.allocate',
      Array.from({ length: 10 }, () => () => cacheOfBytes(backend, small)),
    );
    needQuick(
      'memory.free',
      buffers.map((buffer) => () => buffer.dispose()),
    );
  }),
  on('allocate does not wait for the running plan', async (backend) => {
    const waits: number[] = [];
    const { begin, took } = await longRun(backend);
    for (let round = 0; round < 3; round++) {
      const running = begin();
      await new Promise((resolve) => setImmediate(resolve));
      waits.push(timeCall(() => cacheOfBytes(backend, small)));
      await running;
      if (waits[round]! < took / 4) return;
    }
    throw new Error(
      `beside a run of ${took} ms memory.allocate took ${waits.join(', ')} ms: it must not wait`,
    );
  }),
];
