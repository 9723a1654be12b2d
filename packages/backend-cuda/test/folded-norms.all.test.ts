// A product, the norm of its sum with the residual, and the products behind it, on the emulated device: launches and results.
import './emulated.js';
import { knownCodecs } from '@quern/conformance';
import {
  type Backend,
  type DriverWeight,
  driverOf,
  type PlanDriver,
  type Step,
  type Tensor,
  type Weight,
} from '@quern/core';
import { gpuFormats } from '@quern/native-runtime';
import { absent, ioFor, planOf, record, tensor, weight } from '../../conformance/src/plans/records.js';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { launchesOf, launchesOfStep } from './launches.js';
import { bf16Matrix, blockMatrix, load, type Matrix, uniform } from './matrices.js';

const eps = 1e-5;

const codecs = knownCodecs.filter(({ format }) => gpuFormats.includes(format));
const bytesOf = (values: Float32Array) => new Uint8Array(values.buffer);

/** [rows, width] of a format. */
function matrixOf(format: string, rows: number, width: number): Matrix {
  const values = uniform(rows * width, 3);
  if (format === 'f32') return { format, bytes: bytesOf(values), values };
  if (format === 'bf16') return bf16Matrix(rows, width, 3);
  return blockMatrix(codecs.find((codec) => codec.format === format)!, rows * width);
}

const vector = (backend: Backend, values: Float32Array): Promise<Weight> =>
  backend.loadWeight({ name: 'v', shape: [values.length], format: 'f32', bytes: bytesOf(values) });

/** Σ x[t, k] · w[n, k], and Σ |x[t, k] · w[n, k]|. */
function productAt(x: ArrayLike<number>, w: Float32Array, [t, n, K]: readonly [number, number, number]) {
  let [sum, terms] = [0, 0];
  for (let k = 0; k < K; k++) {
    const term = x[t * K + k]! * w[n * K + k]!;
    sum += term;
    terms += Math.abs(term);
  }
  return { sum, terms };
}

/** rmsNorm in float64. */
function normed(x: ArrayLike<number>, w: Float32Array): Float64Array {
  const width = w.length;
  const y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let squares = 0;
    for (let i = 0; i < width; i++) squares += x[row + i]! ** 2;
    const factor = 1 / Math.sqrt(squares / width + eps);
    for (let i = 0; i < width; i++) y[row + i] = x[row + i]! * factor * w[i]!;
  }
  return y;
}

interface Layer {
  readonly rows: number;
  /** Of x, of the norm, of the results behind it. */
  readonly widths: readonly [number, number, number];
  /** Of the product before the norm, and of each behind it. */
  readonly formats: readonly [string, ...string[]];
  readonly bias?: boolean;
}

const silu = (value: number) => value / (1 + Math.exp(-value));

/** Launches of such a layer; its results agree with the definition within `error` of the sums of |terms|. */
async function agrees(
  { rows, widths: [K, D, N], formats, bias = false }: Layer,
  error: number,
  gated = false,
) {
  using backend = await createBackend({ precision: error < 1e-4 ? 'exact' : 'standard' });
  const [first, ...behind] = formats;
  const before = matrixOf(first, D, K);
  const after = behind.map((format) => matrixOf(format!, N, D));
  const [x, residual, v] = [uniform(rows * K, 1), uniform(rows * D, 2), uniform(D, 4)];
  const [shift, next] = [uniform(D, 5), uniform(N, 6)];
  const [o, norm] = [await load(backend, before, [D, K]), await vector(backend, v)];
  const weights = await Promise.all(after.map((w) => load(backend, w, [N, D])));
  const [b, c] = bias ? [await vector(backend, shift), await vector(backend, next)] : [];
  const { launches, results } = await launchesOfStep(backend, (step) => {
    const y = backend.linear(step.input(x, [rows, K]), o, { bias: b });
    const sum = backend.add(step.input(residual, [rows, D]), y);
    const of = backend.rmsNorm(sum, norm, { eps });
    const ys = weights.map((w) => backend.linear(of, w, { bias: gated ? undefined : c }));
    return [sum, ...(gated ? [backend.swiglu(ys[0]!, ys[1]!)] : ys)];
  });
  const [sums, ...ys] = results.map((values) => Array.from(values, Number));
  let worst = 0;
  const compare = (value: number, expected: number, room: number) => {
    worst = Math.max(
      worst,
      Number.isFinite(value) ? Math.abs(value - expected) / (room * error + 1e-6) : Infinity,
    );
  };
  for (let i = 0; i < rows * D; i++) {
    const { sum, terms } = productAt(x, before.values, [Math.floor(i / D), i % D, K]);
    const added = residual[i]! + (bias ? shift[i % D]! : 0);
    compare(sums![i]!, sum + added, terms + 2);
  }
  const of = normed(sums!, v);
  for (let i = 0; i < rows * N; i++) {
    const all = after.map((w) => productAt(of, w.values, [Math.floor(i / N), i % N, D]));
    if (gated)
      compare(ys[0]![i]!, silu(all[0]!.sum) * all[1]!.sum, (all[0]!.terms + 1) * (all[1]!.terms + 1));
    else
      for (const [at, { sum, terms }] of all.entries())
        compare(ys[at]![i]!, sum + (bias ? next[i % N]! : 0), terms + 1);
  }
  expect(worst).toBeLessThanOrEqual(1);
  return launches;
}

const [exact, rounded] = [2 ** -18, 2 ** -7];

describe.each([...codecs.map(({ format }) => format), 'f32', 'bf16'])('%s', (format) => {
  test.each([1, 2, 3, 8])('%d rows, streamed', async (rows) => {
    const launches = await agrees({ rows, widths: [256, 256, 70], formats: [format, format] }, exact);
    const kernel = `linear_few_${rows <= 2 ? rows : rows <= 4 ? 4 : 8}_${format}`;
    expect(launches).toEqual({ [kernel]: 2 });
  });

  test('gate and up, with a bias before the norm', async () => {
    const layer = { rows: 2, widths: [256, 256, 70], formats: [format, format, format] } as const;
    expect(await agrees(layer, exact, true)).toEqual({
      [`linear_few_2_${format}`]: 1,
      [`gate_up_few_2_${format}`]: 1,
    });
  });
});

test.each([
  [1, 37],
  [3, 70],
  [7, 263],
  [4, 1030],
])('%d rows of a width of %d, with biases', async (rows, D) => {
  const layer = { rows, widths: [40, D, 23], formats: ['bf16', 'f32'], bias: true } as const;
  const height = rows === 1 ? 1 : rows <= 4 ? 4 : 8;
  expect(await agrees(layer, exact)).toEqual({
    [`linear_few_${height}_bf16`]: 1,
    [`linear_few_${height}_f32`]: 1,
  });
});

test('q, k and v of two formats, two launches, each with the norm', async () => {
  const layer = {
    rows: 2,
    widths: [256, 512, 33],
    formats: ['bf16', 'q4_k', 'q4_k', 'q6_k'],
    bias: true,
  } as const;
  expect(await agrees(layer, exact)).toEqual({
    linear_few_2_bf16: 1,
    linear_few_2_q4_k: 1,
    linear_few_2_q6_k: 1,
  });
});

test('the bits of a row do not depend on other rows', async () => {
  using backend = await createBackend();
  const [K, D, N] = [64, 70, 33];
  const [o, w] = [
    await load(backend, bf16Matrix(D, K, 3), [D, K]),
    await load(backend, bf16Matrix(N, D, 4), [N, D]),
  ];
  const norm = await vector(backend, uniform(D, 5));
  const [x, residual] = [uniform(8 * K, 1), uniform(8 * D, 2)];
  const of = async (rows: number) => {
    using step = backend.step();
    const y = backend.linear(step.input(x.slice(0, rows * K), [rows, K]), o);
    const sum = backend.add(step.input(residual.slice(0, rows * D), [rows, D]), y);
    return Array.from(await step.read(backend.linear(backend.rmsNorm(sum, norm, { eps }), w)));
  };
  const all = await of(8);
  for (const rows of [1, 2, 3, 5]) expect(await of(rows)).toEqual(all.slice(0, rows * N));
});

test.each([9, 16, 17, 64].flatMap((rows) => [1, 2, 5].map((parts) => [rows, parts, 'bf16'] as const)))(
  '%d rows in %d parts on tensor cores, %s',
  async (rows, parts, format) => {
    await withSettings({ QUERN_CUDA_ROWS: `${parts}` }, async () => {
      const layer = { rows, widths: [256, 72, 40], formats: [format, format], bias: true } as const;
      const { row_fragments, norm_fragments, row_sums = 0, add_rms_norm } = await agrees(layer, rounded);
      expect({ row_fragments, norm_fragments, row_sums, add_rms_norm }).toEqual({
        row_fragments: 1,
        norm_fragments: 1,
        row_sums: parts > 1 ? 1 : 0,
      });
    });
  },
);

test.each(codecs.flatMap(({ format }) => [3, 128].map((rows) => [format, rows] as const)))(
  '%s, %d rows on tensor cores',
  async (format, rows) => {
    const layer = { rows, widths: [256, 256, 20], formats: [format, format, format] } as const;
    const launches = await agrees(layer, rounded, true);
    expect(launches).toMatchObject({ row_fragments: 1, norm_fragments: 1 });
    expect(launches.add_rms_norm).toBeUndefined();
  },
);

test.each([
  ['fragments of two kinds', ['q4_k', 'q4_k', 'q4_k', 'q8_0'], { row_fragments: 2, norm_fragments: 1 }],
  [
    'a product that streams',
    ['q4_k', 'q4_k', 'q4_k', 'bf16'],
    { row_fragments: 1, norm_fragments: 1, linear_few_8_bf16: 1 },
  ],
] as const)('%s: the rows are written too', async (_, formats, expected) => {
  expect(await agrees({ rows: 5, widths: [256, 256, 33], formats: [...formats] }, rounded)).toMatchObject(
    expected,
  );
});

/** Launches of a product, a norm, and what `behind` makes of both. */
async function launchesWith(rows: number, behind: (of: Parts) => readonly Tensor[], options = {}) {
  using backend = await createBackend();
  const [D, K] = [64, 32];
  const o = await load(backend, bf16Matrix(D, K, 3), [D, K]);
  const w = await load(backend, bf16Matrix(D, D, 4), [D, D]);
  const norm = await vector(backend, uniform(D, 5));
  const { launches } = await launchesOfStep(backend, (step) => {
    const y = backend.linear(step.input(uniform(rows * K, 1), [rows, K]), o, options);
    const sum = backend.add(step.input(uniform(rows * D, 2), [rows, D]), y);
    return behind({ backend, step, y, sum, w, normed: backend.rmsNorm(sum, norm, { eps }) });
  });
  return launches;
}

interface Parts {
  readonly backend: Backend;
  readonly step: Step;
  readonly y: Tensor;
  readonly sum: Tensor;
  readonly normed: Tensor;
  readonly w: Weight;
}

test('folded: nothing else is read', async () => {
  const launches = await launchesWith(1, ({ backend, normed: x, w }) => [backend.linear(x, w)]);
  expect(launches).toEqual({ linear_few_1_bf16: 2 });
});

test('QUERN_CUDA_FOLDED_NORMS=0: a launch for the norm', () =>
  withSettings({ QUERN_CUDA_FOLDED_NORMS: '0' }, async () => {
    const launches = await launchesWith(1, ({ backend, normed: x, w }) => [backend.linear(x, w)]);
    expect(launches).toEqual({ linear_few_1_bf16: 2, add_rms_norm: 1 });
  }));

test.each<[string, (of: Parts) => readonly Tensor[]]>([
  ['the product is an output', ({ backend, y, normed: x, w }) => [y, backend.linear(x, w)]],
  ['the normed rows are an output', ({ backend, normed: x, w }) => [x, backend.linear(x, w)]],
  ['the product is read again', ({ backend, y, normed: x, w }) => [backend.mul(backend.linear(x, w), y)]],
  ['the normed rows are read again', ({ backend, normed: x, w }) => [backend.mul(backend.linear(x, w), x)]],
  ['no product follows', ({ backend, normed: x }) => [backend.silu(x)]],
  [
    'a product of other rows',
    ({ backend, step, sum, normed: x, w }) => {
      const of = backend.linear(backend.gatherRows(sum, step.input(new Int32Array(1))), w);
      return [backend.add(of, x)];
    },
  ],
  [
    'an invariant product follows',
    ({ backend, normed: x, w }) => [backend.linear(x, w, { batchInvariant: true })],
  ],
])('not folded: %s', async (_, behind) => {
  expect((await launchesWith(1, behind)).add_rms_norm).toBe(1);
});

test('not folded: an invariant product', async () => {
  const behind = ({ backend, normed: x, w }: Parts) => [backend.linear(x, w)];
  expect((await launchesWith(1, behind, { batchInvariant: true })).add_rms_norm).toBe(1);
});

/** silu(x) · wᵀ [1, 4] in the arena, the norm of its sum with the inputs, and a product and the sum as outputs. */
function planWithSumAt(
  sumAt: number,
  [w, norm]: readonly [DriverWeight, DriverWeight],
  behind: readonly (readonly number[])[] = [],
) {
  const at = (offset: number) => tensor('arena', offset, [1, 4]);
  const matrix = weight(w, [4, 4]);
  const [epsBits] = new Int32Array(new Float32Array([eps]).buffer);
  return planOf({ arenaBytes: 256, inputsBytes: 64, outputsBytes: 64 }, [
    record('silu', [tensor('inputs', 0, [1, 4]), at(0)]),
    record('linear', [at(0), matrix, absent, at(64)], [0]),
    record(
      'addRmsNorm',
      [tensor('inputs', 16, [1, 4]), at(64), weight(norm, [4]), at(sumAt), at(128)],
      [epsBits!],
    ),
    record('linear', [at(128), matrix, absent, tensor('outputs', 0, [1, 4])], [0]),
    record('silu', [at(sumAt), tensor('outputs', 16, [1, 4])]),
    ...behind,
  ]);
}

/** A plan of `planWithSumAt` on a backend: its launches and results. */
async function outcomeOf(backend: Backend, sumAt: number, behind: readonly (readonly number[])[] = []) {
  const driver = driverOf(backend) as PlanDriver;
  const loaded = (shape: readonly number[], values: Float32Array) =>
    driver.loadWeight({ name: 'w', shape, format: 'f32', bytes: bytesOf(values) });
  const weights = [await loaded([4, 4], uniform(16, 1)), await loaded([4], uniform(4, 2))] as const;
  const plan = planWithSumAt(sumAt, weights, behind);
  const io = ioFor(driver, plan);
  new Float32Array(io.inputs).set(uniform(8, 3));
  const launches = await launchesOf(() => driver.executor.execute(plan, io));
  return { launches, values: Array.from(new Float32Array(io.outputs, 0, 8)) };
}

test.each([
  ['apart from', 192, { silu: 2, linear_few_1_f32: 2 }],
  ['over', 0, { silu: 2, linear_few_1_f32: 2, add_rms_norm: 1 }],
  ['partly over', 8, { silu: 2, linear_few_1_f32: 2, add_rms_norm: 1 }],
])('a sum %s x of the product before it', async (_, sumAt, expected) => {
  using backend = await createBackend();
  const { launches, values } = await outcomeOf(backend, sumAt);
  expect(launches).toEqual(expected);
  const apart = (await outcomeOf(backend, 192)).values;
  for (const [i, value] of values.entries()) expect(value).toBeCloseTo(apart[i]!, 5);
});

test.each([
  ['that were written again', 64, undefined],
  ['of the product', 72, 1],
])('bytes in the place of the product are read behind: %s', async (_, readAt, norms) => {
  using backend = await createBackend();
  const half = (offset: number) => tensor('arena', offset, [1, 2]);
  const { launches } = await outcomeOf(backend, 192, [
    record('silu', [tensor('inputs', 0, [1, 2]), half(64)]),
    record('silu', [half(readAt), tensor('outputs', 32, [1, 2])]),
  ]);
  expect(launches.add_rms_norm).toBe(norms);
});

test('replays have the bits of the first run', async () => {
  using backend = await createBackend();
  const [D, K] = [70, 32];
  const [o, w] = [
    await load(backend, bf16Matrix(D, K, 3), [D, K]),
    await load(backend, bf16Matrix(D, D, 4), [D, D]),
  ];
  const norm = await vector(backend, uniform(D, 5));
  const step = backend.step();
  const sum = backend.add(
    step.input(uniform(D, 2), [1, D]),
    backend.linear(step.input(uniform(K, 1), [1, K]), o),
  );
  const y = backend.linear(backend.rmsNorm(sum, norm, { eps }), w);
  step.keep(y);
  using graph = await backend.graph!.capture(step);
  const values: number[][] = [];
  const launches = await launchesOf(async () => {
    for (let i = 0; i < 3; i++) {
      await graph.replay();
      values.push(Array.from(graph.read(y)));
    }
  });
  expect(launches).toEqual({ linear_few_1_bf16: 6 });
  expect(values).toEqual([values[0], values[0], values[0]]);
});
