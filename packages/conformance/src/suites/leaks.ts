import { readdirSync } from 'node:fs';
import { type Backend, need } from '@quern/core';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { cacheOfBytes, fresh, loadValues } from '../ops/fresh.js';
import { footprint, grownBy, settle, settledFootprint } from '../values/footprint.js';

const on = fresh('leaks');

/** Bytes per round and number of rounds: 48 MiB in total if nothing is freed. */
const roundBytes = 2 ** 22;
const rounds = 12;
const leak = rounds * roundBytes;

const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;

/**
 * Bytes in use after the rounds minus bytes before: the least of several looks, because collector and system are slow
 * to free.
 */
async function growth(backend: Backend, round: () => Promise<void>): Promise<number> {
  await round(); // allocations made once
  const before = await settledFootprint(backend);
  for (let i = 0; i < rounds; i++) await round();
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 5 && least > leak / 2; look++) {
    await settle();
    least = Math.min(least, grownBy(footprint(backend), before));
  }
  return least;
}

/** Other programs use memory too, but hardly half of `leak` in each of three attempts. */
async function needNoLeak(backend: Backend, what: string, round: () => Promise<void>): Promise<void> {
  const grown: number[] = [];
  while (grown.length < 3) {
    const bytes = await growth(backend, round);
    if (bytes <= leak / 2) return;
    grown.push(bytes);
  }
  throw new Error(
    `${rounds} rounds of ${what}, ${mib(roundBytes)} each, leave ${grown.map(mib).join(', then ')} in use: is it freed?`,
  );
}

const filled = new Uint8Array(roundBytes).fill(1);

async function fillCache(backend: Backend): Promise<void> {
  const cache = cacheOfBytes(backend, roundBytes);
  await cache.writeBlocks(0, filled);
  cache.dispose();
}

const side = 2 ** 10;
const matrix = new Float32Array(side * side).fill(1);

async function useWeight(backend: Backend): Promise<void> {
  const weight = await loadValues(backend, matrix, [side, side]);
  const step = backend.step();
  backend.linear(step.input(matrix.subarray(0, side), [1, side]), weight);
  await step.run();
  weight.dispose();
}

/** Inputs, an output and a temporary that the plan holds while captured. */
async function replayOnce(backend: Backend): Promise<void> {
  need(backend, 'graph');
  const step = backend.step();
  const x = step.input(matrix);
  step.keep(backend.scale(backend.add(x, x), 2));
  const graph = await backend.graph.capture(step);
  await graph.replay();
  graph.dispose();
}

/** A backend disposed with all its resources. */
async function openAndFill(lab: Lab): Promise<void> {
  const backend = await lab.open();
  await cacheOfBytes(backend, roundBytes).writeBlocks(0, filled);
  await loadValues(backend, matrix.subarray(0, side), [1, side]);
  backend.dispose();
}

/** Threads of this process; undefined if the system does not list them. */
function threads(): number | undefined {
  try {
    return readdirSync('/proc/self/task').length;
  } catch {
    return undefined;
  }
}

const backends = 8;

async function needNoThreads(lab: Lab): Promise<void> {
  await openAndFill(lab); // allocations made once
  await settle();
  const before = threads();
  if (before === undefined) return;
  for (let i = 0; i < backends; i++) await openAndFill(lab);
  let more = backends;
  for (let look = 0; look < 200 && more >= backends; look++) {
    await settle();
    more = threads()! - before;
  }
  if (more < backends) return;
  throw new Error(`${backends} disposed backends leave ${more} threads: does dispose() end them?`);
}

const everywhere: readonly Case[] = [
  on('a cache is freed', (backend) => needNoLeak(backend, 'a cache', () => fillCache(backend))),
  on('a weight is freed', (backend) => needNoLeak(backend, 'a weight', () => useWeight(backend))),
  on('a step is freed', (backend) =>
    needNoLeak(backend, 'a step', async () => {
      const step = backend.step();
      step.keep(backend.scale(step.input(matrix), 2));
      await step.run();
    }),
  ),
  on('a backend frees all its memory', (backend, lab) =>
    needNoLeak(backend, 'a backend with a cache', () => openAndFill(lab)),
  ),
  on('a backend ends its threads', (_backend, lab) => needNoThreads(lab)),
];

const captured: Case = on('a captured plan is freed', (backend) =>
  needNoLeak(backend, 'a captured plan', () => replayOnce(backend)),
);

/** Disposed resources are freed: bytes and threads in use return to about their former number. */
export const leaks: Suite = ({ backend }) => [...everywhere, ...(backend.graph ? [captured] : [])];
