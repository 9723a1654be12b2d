import { type Backend, defineBackend, need, type Reduction, type Tensor } from '@quern/core';
import { normal } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { ensure } from '../values/refusal.js';

const suite = 'collective';

/** A case on all backends of a group. */
const on = (name: string, worldSize: number, prove: (group: readonly Backend[]) => Promise<void>): Case => ({
  suite,
  name: `${name}, ${worldSize} ranks`,
  async run({ options }) {
    const group = (await options.createGroup!(worldSize)).map((driver) =>
      defineBackend(driver, { guard: 256 }),
    );
    try {
      for (const [rank, { collective }] of group.entries())
        ensure(
          collective?.rank === rank && collective.worldSize === worldSize,
          `driver ${rank} should be rank ${rank} of ${worldSize}; it is ${collective?.rank} of ${collective?.worldSize}`,
        );
      await prove(group);
    } finally {
      for (const backend of group) backend.dispose();
    }
  },
});

const shape = [5, 7];

/** Values of each rank: different on every rank. */
const broughtBy = (rank: number): Float32Array => Float32Array.from(normal(60 + rank, shape).values);

/** Runs the same on every rank at once; returns the values read on each. */
async function together(
  group: readonly Backend[],
  record: (
    backend: Backend & { readonly collective: NonNullable<Backend['collective']> },
    x: Tensor,
  ) => Tensor,
): Promise<Float32Array[]> {
  return Promise.all(
    group.map(async (backend, rank) => {
      need(backend, 'collective');
      const step = backend.step();
      return (await step.read(record(backend, step.input(broughtBy(rank), shape)))) as Float32Array;
    }),
  );
}

const combined: Readonly<Record<Reduction, (values: readonly number[]) => number>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
};

function needSameBits(results: readonly Float32Array[]): void {
  const [first, ...others] = results.map(
    (values) => new Int32Array(values.buffer, values.byteOffset, values.length),
  );
  const different = others.findIndex((bits) => bits.some((word, i) => word !== first![i]));
  ensure(different < 0, `rank ${different + 1} has other bits than rank 0`);
}

function needValues(got: Float32Array, want: (i: number) => readonly number[], by: Reduction): void {
  got.forEach((value, i) => {
    const terms = want(i);
    const allowed = by === 'sum' ? 1e-6 * terms.reduce((sum, term) => sum + Math.abs(term), 0) : 0;
    const wanted = combined[by](terms);
    ensure(Math.abs(value - wanted) <= allowed, `element ${i} is ${value}; expected ${wanted} ± ${allowed}`);
  });
}

const reduces = (worldSize: number, by: Reduction): Case =>
  on(`allReduce by ${by}`, worldSize, async (group) => {
    const results = await together(group, ({ collective }, x) => collective.allReduce(x, by));
    needSameBits(results);
    const terms = group.map((_, rank) => broughtBy(rank));
    needValues(results[0]!, (i) => terms.map((values) => values[i]!), by);
  });

const gathers = (worldSize: number): Case =>
  on('allGather', worldSize, async (group) => {
    const results = await together(group, ({ collective }, x) => collective.allGather(x));
    const want = group.flatMap((_, rank) => [...broughtBy(rank)]);
    for (const [rank, got] of results.entries())
      ensure(got.join() === want.join(), `rank ${rank} should have the rows of all ranks, in rank order`);
  });

/** A product split by columns over the ranks: partial sums, then more work, as in models. */
const inAPlan = (worldSize: number): Case =>
  on('between other ops, several in one plan', worldSize, async (group) => {
    const results = await together(group, (backend, x) => {
      const { collective } = backend;
      const total = collective.allReduce(backend.scale(x, 2), 'sum');
      const rows = backend.slice(collective.allGather(backend.slice(total, 1, 3)), 0, 2);
      return collective.allReduce(backend.add(rows, rows), 'max');
    });
    needSameBits(results);
    const terms = group.map((_, rank) => broughtBy(rank));
    needValues(results[0]!, (i) => terms.map((values) => 4 * values[7 + i]!), 'sum');
  });

const replayed = (worldSize: number): Case =>
  on('a captured plan', worldSize, async (group) => {
    const graphs = await Promise.all(
      group.map(async (backend, rank) => {
        need(backend, 'collective', 'graph');
        const step = backend.step();
        const x = step.input(broughtBy(rank), shape);
        const y = backend.collective.allReduce(x, 'sum');
        step.keep(y);
        return { graph: await backend.graph.capture(step), x, y };
      }),
    );
    for (const factor of [1, -3]) {
      const terms = group.map((_, rank) => broughtBy(rank).map((value) => factor * value));
      graphs.forEach(({ graph, x }, rank) => graph.write(x, terms[rank]!));
      await Promise.all(graphs.map(({ graph }) => graph.replay()));
      const results = graphs.map(({ graph, y }) => (graph.read(y) as Float32Array).slice());
      needSameBits(results);
      needValues(results[0]!, (i) => terms.map((values) => values[i]!), 'sum');
    }
  });

const casesOf = (worldSize: number, { backend }: Lab): readonly Case[] => [
  ...(Object.keys(combined) as Reduction[]).map((by) => reduces(worldSize, by)),
  gathers(worldSize),
  inAPlan(worldSize),
  ...(backend.graph ? [replayed(worldSize)] : []),
];

/** Results of a group of drivers: each rank is checked against the values of all ranks. */
export const collective: Suite = (lab) =>
  lab.options.createGroup ? [1, 2, 3].flatMap((worldSize) => casesOf(worldSize, lab)) : [];
