// Equal bits for every number of threads, and for every replay of a captured plan.
import {
  type HostArray,
  lowRankOperands,
  moeOperands,
  type PlanDriver,
  type Sample,
  type SampleOperand,
} from '@quern/core';
import { as, floats, integers, ints, random, zeros } from '@quern/core/testing';
import { cpuDriver } from '../src/index.js';
import { testedIsas } from './isas.js';
import { allOps, prepare, runSample } from './single-op.js';

/** Uniform in [−½, ½): faster to generate than normal values. */
function uniform(seed: number, shape: readonly number[]): SampleOperand {
  const next = random(seed);
  const values = new Float32Array(shape.reduce((n, d) => n * d, 1)).map(() => next() - 0.5);
  return { shape, format: 'f32', values };
}

/** Large sizes: many chunks. Odd sizes: uneven chunks. f16: threads decode. */
const cases: Readonly<Record<string, readonly Sample[]>> = {
  linear: (['f16', 'bf16'] as const).flatMap((format) =>
    [1, 2, 5, 33].map((T) => ({
      name: `${T} rows, ${format}`,
      operands: { x: uniform(T, [T, 515]), w: as(format, uniform(2, [397, 515])), bias: uniform(3, [397]) },
      attributes: {},
    })),
  ),
  gateUpSwiglu: [1, 33].map((T) => ({
    name: `${T} rows`,
    operands: {
      x: uniform(T, [T, 515]),
      gate: as('f16', uniform(2, [397, 515])),
      up: uniform(3, [397, 515]),
    },
    attributes: {},
  })),
  qkvLinear: [1, 33].map((T) => ({
    name: `${T} rows`,
    operands: {
      x: uniform(T, [T, 515]),
      q: as('f16', uniform(2, [512, 515])),
      k: uniform(3, [128, 515]),
      v: uniform(4, [128, 515]),
    },
    attributes: {},
  })),
  linearArgmax: [1, 9].map((T) => ({
    name: `${T} rows`,
    operands: { x: uniform(T, [T, 515]), w: as('f16', uniform(2, [1001, 515])) },
    attributes: {},
  })),
  expertLinear: [1, 40].map((R) => ({
    name: `${R} rows`,
    operands: {
      x: uniform(R, [R, 259]),
      w: as('f16', uniform(2, [5, 397, 259])),
      ids: integers(R, [R, 3], 5),
    },
    attributes: {},
  })),
  moe: [1, 90].map((T) => {
    const { gate, up, down, ...exact } = moeOperands(5, [T, 259, 6, 131], 2);
    return {
      name: `${T} rows`,
      operands: { ...exact, gate: as('f16', gate), up, down: as('bf16', down) },
      attributes: { chosen: 2, renormalise: 1 },
    };
  }),
  linearMask: [1, 9].map((T) => ({
    name: `${T} rows`,
    operands: {
      x: uniform(T, [T, 515]),
      w: as('f16', uniform(2, [2001, 515])),
      bits: ints(
        Array.from({ length: T * 63 }, (_, i) => (i % 9 < 6 ? 0 : i * 0x01234567)),
        [T, 63],
      ),
    },
    attributes: {},
  })),
  addLowRank: [1, 40].map((T) => ({
    name: `${T} rows`,
    operands: lowRankOperands(T, { T, K: 259, N: 1397, R: 19, E: 4, k: 2 }, 'bf16'),
    attributes: {},
  })),
  topK: [
    { name: 'a vocabulary', operands: { x: uniform(1, [1, 100_003]) }, attributes: { k: 40 } },
    { name: 'a batch', operands: { x: uniform(2, [5, 30_001]) }, attributes: { k: 128 } },
  ],
  sample: (
    [
      ['top-k', [0.8, 40, 0.95, -3]],
      ['top-p over a vocabulary', [2, 0, 0.99, Number.NEGATIVE_INFINITY]],
      ['nothing cut', [1, 0, 1, Number.NEGATIVE_INFINITY]],
    ] as const
  ).map(([name, settings]) => ({
    name,
    operands: {
      x: uniform(1, [3, 30_001]),
      settings: floats([...settings, ...settings, ...settings], [3, 4]),
      random: integers(2, [3, 2], 2 ** 31),
      draws: ints([2, 0, 1]),
    },
    attributes: {},
  })),
  silu: [{ name: 'long', operands: { x: uniform(1, [101, 1001]) }, attributes: {} }],
  rmsNorm: [
    {
      name: 'many rows',
      operands: { x: uniform(1, [101, 1001]), w: uniform(2, [1001]) },
      attributes: { eps: 1e-5 },
    },
  ],
  qkNormRopeAppend: [
    {
      name: 'many rows',
      operands: {
        q: uniform(1, [64, 8, 32]),
        k: uniform(2, [64, 4, 32]),
        v: uniform(3, [64, 4, 32]),
        qNorm: uniform(4, [32]),
        kNorm: uniform(5, [32]),
        table: uniform(6, [64, 32]),
        slots: ints(Array.from({ length: 64 }, (_, t) => t % 48)), // some slots occur twice: the later row wins
        kCache: zeros([1, 64, 4, 32], 'f16'),
        vCache: zeros([1, 64, 4, 32], 'f16'),
      },
      attributes: { eps: 1e-6, layout: 1 },
    },
  ],
  attention: [
    {
      name: 'two sequences',
      operands: {
        q: uniform(1, [64, 8, 32]),
        kCache: as('f16', uniform(2, [4, 128, 4, 32])),
        vCache: as('f16', uniform(3, [4, 128, 4, 32])),
        cuSeqlens: ints([0, 40, 64]),
        kvLengths: ints([300, 100]),
        blockTable: ints([3, 1, 0, 2, 0, 0], [2, 3]),
      },
      attributes: { scale: 0.2, causal: 1, window: 0, softCap: 0, bf16: 0 },
    },
    {
      name: 'decode with many keys: merged parts of the keys',
      operands: {
        q: uniform(1, [6, 4, 32]),
        kCache: as('f16', uniform(2, [9, 256, 2, 32])),
        vCache: as('f16', uniform(3, [9, 256, 2, 32])),
        cuSeqlens: ints([0, 1, 6]),
        kvLengths: ints([2300, 1030]),
        blockTable: ints([3, 1, 0, 2, 8, 7, 6, 5, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8], [2, 9]),
      },
      attributes: { scale: 0.2, causal: 1, window: 0, softCap: 0, bf16: 0 },
    },
  ],
};

const sameBits = (a: readonly HostArray[], b: readonly HostArray[]) =>
  a.length === b.length &&
  a.every((array, i) => {
    const other = b[i]!;
    return Buffer.from(array.buffer, array.byteOffset, array.byteLength).equals(
      Buffer.from(other.buffer, other.byteOffset, other.byteLength),
    );
  });

const isas = await testedIsas();

describe.each(isas)('%s', (isa) => {
  const drivers: PlanDriver[] = [];
  beforeAll(async () => {
    for (const threads of [1, 2, 3]) drivers.push(await cpuDriver({ isa, threads }));
  });
  afterAll(() => {
    for (const driver of drivers) driver.dispose();
  });

  /** Several runs: thread timing differs in each run. */
  test.each(Object.keys(cases))('%s: 1, 2 and 3 threads', async (name) => {
    for (const sample of cases[name]!) {
      const first = await runSample(drivers[0]!, allOps[name]!, sample);
      for (const driver of drivers.slice(1)) {
        const single = await prepare(driver, allOps[name]!, sample, 3);
        for (let run = 0; run < 6; run++) {
          await driver.executor.execute(single.plan, single.io);
          expect(sameBits(await single.results(), first)).toBe(true);
        }
      }
    }
  });

  test('rows of a batch have the same bits together and alone', async () => {
    const w = uniform(2, [129, 515]);
    const x = uniform(1, [9, 515]);
    const [all] = await runSample(drivers[1]!, allOps.linear!, {
      name: '',
      operands: { x, w },
      attributes: {},
    });
    for (let t = 0; t < 9; t++) {
      const row = { ...x, shape: [1, 515], values: Array.from(x.values).slice(t * 515, (t + 1) * 515) };
      const [one] = await runSample(drivers[1]!, allOps.linear!, {
        name: '',
        operands: { x: row, w },
        attributes: {},
      });
      expect(sameBits([one!], [all!.slice(t * 129, (t + 1) * 129)])).toBe(true);
    }
  });

  test('rows of a mixture of experts have the same bits together and alone', async () => {
    const [T, D] = [9, 64];
    const { x, residual, ...weights } = moeOperands(3, [T, D, 6, 48], 3);
    const attributes = { chosen: 3, renormalise: 1 };
    const run = (operands: Sample['operands']) =>
      runSample(drivers[1]!, allOps.moe!, { name: '', operands, attributes });
    const [all] = await run({ x, residual, ...weights });
    for (let t = 0; t < T; t++) {
      const row = (of: SampleOperand) => ({
        shape: [1, D],
        format: 'f32',
        values: Array.from(of.values).slice(t * D, (t + 1) * D),
      });
      const [one] = await run({ x: row(x), residual: row(residual), ...weights });
      expect(sameBits([one!], [all!.slice(t * D, (t + 1) * D)])).toBe(true);
    }
  });

  test('replay and execute give the same bits, also with new inputs', async () => {
    const driver = drivers[1]!;
    const sample = cases.linear![1]!;
    const single = await prepare(driver, allOps.linear!, sample);
    await driver.executor.execute(single.plan, single.io);
    const executed = (await single.results()).map((array) => array.slice());
    const captured = await driver.executor.capture!(single.plan, single.io);
    const x = new Float32Array(single.io.inputs);
    const kept = x.slice();
    x.fill(1);
    await captured.replay([], single.io.control);
    expect(sameBits(await single.results(), executed)).toBe(false);
    x.set(kept);
    for (let i = 0; i < 3; i++) {
      new Uint8Array(single.io.outputs).fill(0xff);
      await captured.replay([], single.io.control);
      expect(sameBits(await single.results(), executed)).toBe(true);
    }
    captured.dispose();
    expect(() => captured.replay([], single.io.control)).toThrow(
      expect.objectContaining({ code: 'DISPOSED' }),
    );
  });
});
