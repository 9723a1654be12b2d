// A row's bits do not depend on other rows: any number of rows with batchInvariant, and in products of standard precision (with
// tiles: any number above exactRows); up to exactRows rows otherwise.
import {
  type AnyOp,
  fusedOps,
  geluForms,
  type HostArray,
  lowRankOperands,
  type PlanDriver,
  type Sample,
  type SampleOperand,
} from '@quern/core';
import { as, ints, normal } from '@quern/core/testing';
import { decode, encodeAll } from '@quern/quant';
import { cpuDriver } from '../src/index.js';
import { testedKernels } from './isas.js';
import { allOps, type GivenOperand, runSample } from './single-op.js';

const [K, N, T] = [512, 40, 200];
const x = normal(1, [T, K]);
const bias = normal(2, [N]);

/** Q8_0 with one scale per 256 weights, as in files of `quern quantize int8`. */
function withSharedScales(blocks: Uint8Array): Uint8Array {
  const [block, shared] = [34, 8];
  for (let at = 0; at < blocks.length; at += block)
    blocks.copyWithin(at, at - (at % (block * shared)), at - (at % (block * shared)) + 2);
  return blocks;
}

const formats = ['f32', 'f16', 'bf16', 'q8_0', 'int8', 'q4_0', 'q4_k', 'q6_k'] as const;
type Format = (typeof formats)[number];

/** A matrix [N, K], with its bytes if quantised. */
function weight(format: Format, seed: number): GivenOperand {
  const dense = normal(seed, [N, K], 1 / Math.sqrt(K));
  if (format === 'f32' || format === 'f16' || format === 'bf16') return as(format, dense);
  const stored = format === 'int8' ? 'q8_0' : format;
  const encoded = encodeAll(stored, Float32Array.from(dense.values));
  const bytes = format === 'int8' ? withSharedScales(encoded) : encoded;
  const values = new Float32Array(N * K);
  decode(stored, bytes, 0, values, 0, values.length);
  return { shape: [N, K], format: stored, values, bytes };
}

/** Per op: operands other than x, and attributes. */
type Case = Pick<Sample, 'operands' | 'attributes'>;
const products = (format: Format): Readonly<Record<string, Case>> => ({
  linear: { operands: { w: weight(format, 3), bias }, attributes: {} },
  biasGelu: { operands: { w: weight(format, 3), bias }, attributes: { form: geluForms.erf } },
  gateUpSwiglu: { operands: { gate: weight(format, 4), up: weight(format, 5) }, attributes: {} },
  qkvLinear: {
    operands: { q: weight(format, 6), k: weight('f16', 7), v: weight(format, 8), vBias: bias },
    attributes: {},
  },
});

const bits = (array: HostArray) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);

/** Rows [first, first + count) of a tensor with rows of equal width. */
function rows({ shape, format, values }: SampleOperand, first: number, count: number): SampleOperand {
  const width = values.length / shape[0]!;
  const some = Float32Array.from(values).slice(first * width, (first + count) * width);
  return { shape: [count, ...shape.slice(1)], format, values: some };
}

const run = (driver: PlanDriver, op: AnyOp, { operands, attributes }: Case, of: SampleOperand) =>
  runSample(driver, op, { name: '', operands: { x: of, ...operands }, attributes });

/** `count` rows from `first` on: equal bits alone and among all rows, in every output. */
async function expectAlike(
  driver: PlanDriver,
  op: AnyOp,
  sample: Case,
  all: readonly HostArray[],
  [first, count]: readonly [number, number],
): Promise<void> {
  const some = await run(driver, op, sample, rows(x, first, count));
  some.forEach((array, i) => {
    const width = all[i]!.length / T;
    const among = all[i]!.subarray(first * width, (first + count) * width);
    if (!bits(array).equals(bits(among))) throw new Error(`rows ${first} to ${first + count} differ`);
  });
}

describe.each(await testedKernels())('$isa, $precision', ({ isa, precision }) => {
  let driver: PlanDriver;
  beforeAll(async () => {
    driver = await cpuDriver({ isa, threads: 2, precision });
  });
  afterAll(() => driver.dispose());

  test.each(formats)('%s: a text of 1 to 200 rows has the same bits alone and in a batch', async (format) => {
    for (const [name, { operands, attributes }] of Object.entries(products(format))) {
      const sample = { operands, attributes: { ...attributes, batchInvariant: 1 } };
      const all = await run(driver, allOps[name]!, sample, x);
      const lengths =
        name === 'linear' ? Array.from({ length: T }, (_, i) => i + 1) : [1, 2, 16, 17, 23, 64, 65];
      for (const count of lengths)
        await expectAlike(driver, allOps[name]!, sample, all, [(count * 37) % (T - count + 1), count]);
    }
  });

  test.each(['f32', 'f16', 'bf16'] as const)(
    '%s: changes by adapters, alone and among 40 rows',
    async (format) => {
      const many = lowRankOperands(7, { T: 40, K: 96, N: 300, R: 16, E: 4, k: 2 }, format);
      const { a, b, ...byRow } = many;
      const ids = { ...byRow.ids, shape: [40, 2] };
      const [all] = await runSample(driver, allOps.addLowRank!, { name: '', operands: many, attributes: {} });
      for (const [first, count] of [
        [0, 1],
        [7, 1],
        [3, 9],
        [11, 29],
      ] as const) {
        const some = Object.fromEntries(
          Object.entries({ ...byRow, ids }).map(([name, operand]) => [name, rows(operand, first, count)]),
        );
        const of = ints(Array.from(some.ids!.values), [count, 2]);
        const operands = { ...some, ids: of, a, b };
        const [y] = await runSample(driver, allOps.addLowRank!, { name: '', operands, attributes: {} });
        expect(bits(y!).equals(bits(all!.subarray(first * 300, (first + count) * 300)))).toBe(true);
      }
    },
  );

  if (precision === 'standard') {
    const above = isa === 'amx' ? 16 : 0; // tiles take more rows than this
    test.each(formats)(
      `%s: a product gives a row the same bits for any number of rows above ${above}`,
      async (format) => {
        for (const [name, sample] of Object.entries(products(format))) {
          const all = await run(driver, allOps[name]!, sample, x);
          for (const part of [
            [5, 1],
            [40, 3],
            [100, 16],
            [31, 17],
            [90, 64],
          ] as const)
            if (part[1] > above) await expectAlike(driver, allOps[name]!, sample, all, part);
        }
      },
    );
  }

  test.each(formats)('%s: exactRows rows have the same bits together and alone', async (format) => {
    const { exactRows = 1 } = driver.profile;
    expect(exactRows).toBeGreaterThanOrEqual(16); // rows of DecodeBatch
    for (const [name, sample] of Object.entries(products(format))) {
      const op = allOps[name]!;
      const together = await run(driver, op, sample, rows(x, 0, exactRows));
      for (let t = 0; t < exactRows; t++) {
        const alone = await run(driver, op, sample, rows(x, t, 1));
        alone.forEach((array, i) => {
          const width = array.length;
          expect(bits(together[i]!.subarray(t * width, (t + 1) * width)).equals(bits(array))).toBe(true);
        });
      }
    }
  });

  test.each([1, 4, 8, 16])(
    'attention with %d query heads to a kv head: exactRows rows over several parts of the keys',
    async (group) => {
      const { exactRows = 1 } = driver.profile;
      const [blocks, blockSize, d, end] = [3, 256, 32, 264];
      const q = normal(group, [exactRows, group, d]);
      const cache = (seed: number) => as('f16', normal(seed, [blocks, blockSize, 1, d]));
      const [kCache, vCache] = [cache(11), cache(12)];
      const attend = async (first: number, count: number) => {
        const operands = {
          q: rows(q, first, count),
          kCache,
          vCache,
          cuSeqlens: ints([0, count]),
          kvLengths: ints([end - exactRows + first + count]),
          blockTable: ints([2, 0, 1], [1, 3]),
        };
        const attributes = { scale: 0.2, causal: 1, window: 0, softCap: 0, bf16: 1 };
        const [y] = await runSample(driver, allOps.attention!, { name: '', operands, attributes });
        return y!;
      };
      const together = await attend(0, exactRows);
      const width = group * d;
      for (let t = 0; t < exactRows; t++)
        expect(bits(together.subarray(t * width, (t + 1) * width)).equals(bits(await attend(t, 1)))).toBe(
          true,
        );
    },
  );

  test('attention of encoders: a text has the same bits alone and in a batch', async () => {
    const [H, d] = [3, 32];
    const lengths = [1, 5, 16, 17, 40, 121];
    const [q, k, v] = [20, 21, 22].map((seed) => normal(seed, [T, H, d])) as [
      SampleOperand,
      SampleOperand,
      SampleOperand,
    ];
    const starts = lengths.map((_, s) => lengths.slice(0, s).reduce((sum, n) => sum + n, 0));
    for (const bf16 of [0, 1]) {
      const attend = async (first: number, count: number, bounds: readonly number[]) => {
        const operands = {
          q: rows(q, first, count),
          k: rows(k, first, count),
          v: rows(v, first, count),
          cuSeqlens: ints(bounds),
          cuKeys: ints(bounds),
        };
        const attributes = { scale: 0.2, causal: 0, window: 0, softCap: 0, bf16 };
        const [y] = await runSample(driver, allOps.uncachedAttention!, { name: '', operands, attributes });
        return y!;
      };
      const all = await attend(0, T, [...starts, T]);
      for (const [s, first] of starts.entries()) {
        const count = lengths[s]!;
        const alone = await attend(first, count, [0, count]);
        expect(bits(all.subarray(first * H * d, (first + count) * H * d)).equals(bits(alone))).toBe(true);
      }
    }
  });
});

test('every fused projection op except linearArgmax can be batchInvariant', () => {
  const able = Object.values(fusedOps).filter((op) => 'batchInvariant' in op.attributes);
  expect(able.map(({ name }) => name)).toEqual(['gateUpSwiglu', 'qkvLinear', 'biasGelu']);
});
