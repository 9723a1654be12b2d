import type { cacheDtypes } from '../kv/cache-row.js';
import { changed, type ErrorSample, inCache, ints, normal, type Sample } from '../testing/samples.js';

interface Case {
  readonly name: string;
  readonly heads?: readonly [H: number, Hk: number, d: number];
  /** Rows and keys of each sequence. */
  readonly sequences: readonly (readonly [rows: number, keys: number])[];
  readonly blockSize: number;
  readonly attrs?: Readonly<Partial<Record<'scale' | 'causal' | 'window' | 'softCap' | 'bf16', number>>>;
  readonly format?: (typeof cacheDtypes)[number];
  /** Standard deviation of q. */
  readonly deviation?: number;
  /** Standard deviation of the heads' sinks; absent: none. */
  readonly sinks?: number;
  /** Values that replace others, by index. */
  readonly put?: Readonly<Partial<Record<'q' | 'k' | 'v', Readonly<Record<number, number>>>>>;
}

/** Blocks are assigned in reverse order, to catch a kernel that ignores the table. */
function sample(given: Case) {
  const {
    name,
    heads = [4, 2, 16],
    sequences,
    blockSize,
    attrs,
    format = 'f32',
    deviation = 1,
    sinks,
    put = {},
  } = given;
  const [H, Hk, d] = heads;
  const perSequence = Math.max(1, ...sequences.map(([, keys]) => Math.ceil(keys / blockSize)));
  const blocks = sequences.length * perSequence;
  const rows = sequences.reduce((n, [r]) => n + r, 0);
  const cuSeqlens = [0];
  for (const [r] of sequences) cuSeqlens.push(cuSeqlens[cuSeqlens.length - 1]! + r);
  const table = Array.from({ length: blocks }, (_, i) => blocks - 1 - i);
  const cached = [blocks, blockSize, Hk, d];
  return {
    name,
    operands: {
      q: changed(normal(rows + d, [rows, H, d], deviation), put.q),
      kCache: inCache(format, changed(normal(1, cached), put.k)),
      vCache: inCache(format, changed(normal(2, cached), put.v)),
      cuSeqlens: ints(cuSeqlens),
      kvLengths: ints(sequences.map(([, keys]) => keys)),
      blockTable: ints(table, [sequences.length, perSequence]),
      ...(sinks !== undefined && { sinks: normal(3, [H], sinks) }),
    },
    attributes: { scale: 1 / Math.sqrt(d), causal: 1, window: 0, softCap: 0, bf16: 0, ...attrs },
  };
}

/** Ordinary values of a prompt, with small and large scores: for kernels of many rows. */
const prompts = () => {
  const prompt = (d: number, deviation: number, format: 'f32' | 'f16') =>
    sample({
      name: `24 rows of ${d}, deviation ${deviation}, ${format}`,
      heads: [2, 1, d],
      sequences: [[24, 40]],
      blockSize: 16,
      deviation,
      format,
    });
  return [
    ...[64, 96, 128].map((d) => prompt(d, 1, 'f32')),
    ...[3, 8].map((deviation) => prompt(64, deviation, 'f32')),
    ...[1, 8].map((deviation) => prompt(128, deviation, 'f16')),
  ];
};

/** Element 3 of key 5, in head 0 of two of 16 elements, a block per sequence. */
const key5 = 5 * 2 * 16 + 3;
/** Of key 0, which every row sees: tiles multiply the values of keys that a row does not see with weight 0. */
const key0 = 3;
/** Rows before and after key 5: on kernels of few and many rows. */
const fewRows = { sequences: [[6, 9]], blockSize: 16 } as const;
const manyRows = { sequences: [[38, 40]], blockSize: 64 } as const;

/** A score that is not a number stays in the rows and heads that see its key. */
const notFinite = () => [
  ...([fewRows, manyRows] as const).flatMap((rows) => {
    const [[count]] = rows.sequences;
    return [
      sample({ ...rows, name: `a NaN key, ${count} rows`, put: { k: { [key5]: Number.NaN } } }),
      sample({ ...rows, name: `a NaN value, ${count} rows`, put: { v: { [key0]: Number.NaN } } }),
      sample({ ...rows, name: `a NaN query, ${count} rows`, put: { q: { [key5]: Number.NaN } } }),
      sample({ ...rows, name: `an infinite key, ${count} rows`, put: { k: { [key5]: Infinity } } }),
      sample({
        ...rows,
        name: `a NaN key, i8 cache, ${count} rows`,
        format: 'i8',
        put: { k: { [key5]: Number.NaN } },
      }),
      sample({
        ...rows,
        name: `in bf16: a NaN key and a NaN value, f16 cache, ${count} rows`,
        format: 'f16',
        attrs: { bf16: 1 },
        put: { k: { [key5]: Number.NaN }, v: { [key0 + 16]: Number.NaN } },
      }),
    ];
  }),
  sample({
    name: 'an infinite key that is alone',
    sequences: [[3, 3]],
    blockSize: 4,
    put: { k: { 0: Infinity, 16: -Infinity } },
  }),
  sample({
    ...fewRows,
    name: 'a NaN key that a sliding window leaves',
    attrs: { window: 2 },
    put: { k: { [key5]: Number.NaN } },
  }),
];

/** With sinks: few rows and many, keys in parts, sinks that take all and next to nothing. */
const withSinks = () => [
  sample({ ...fewRows, name: 'sinks, 6 rows', sinks: 1 }),
  sample({ ...manyRows, name: 'sinks, 38 rows', sinks: 1 }),
  sample({
    ...manyRows,
    name: 'sinks, 38 rows in bf16, f16 cache',
    sinks: 1,
    format: 'f16',
    attrs: { bf16: 1 },
  }),
  sample({
    name: 'sinks far from the scores',
    heads: [6, 2, 24],
    sequences: [
      [3, 9],
      [20, 20],
    ],
    blockSize: 4,
    sinks: 60,
  }),
  sample({
    name: 'sinks and a window',
    sequences: [
      [2, 70],
      [1, 4],
    ],
    blockSize: 16,
    sinks: 1,
    attrs: { window: 16 },
  }),
  sample({
    name: 'sinks and keys in parts',
    heads: [16, 2, 64],
    sequences: [
      [1, 900],
      [2, 300],
    ],
    blockSize: 32,
    sinks: 2,
  }),
  sample({
    name: 'sinks, a row of many heads in parts',
    heads: [20, 1, 64],
    sequences: [[1, 700]],
    blockSize: 32,
    sinks: 2,
  }),
];

/** The whole cache as one block per sequence. */
const contiguous = { name: 'contiguous', sequences: [[3, 3]], blockSize: 8 } as const;

/** Two sequences, each with a block of its own. */
const two = {
  name: 'two',
  sequences: [
    [1, 4],
    [1, 4],
  ],
  blockSize: 4,
} as const;

/** Shapes of a V cache beside the K cache [2, 4, 2, 16] of `two`. */
const otherCaches = [
  ['blocks', [1, 4, 2, 16]],
  ['blocks of the same size in all', [4, 2, 2, 16]],
  ['heads', [2, 4, 1, 16]],
  ['heads of the same size in all', [2, 4, 4, 8]],
] as const;

export const attentionSamples = (): readonly Sample[] => [
  sample(contiguous),
  sample({ ...contiguous, name: 'one token after many', sequences: [[1, 37]], blockSize: 64 }),
  sample({ ...contiguous, name: 'f16 cache', sequences: [[2, 19]], blockSize: 32, format: 'f16' }),
  sample({ name: 'paged', sequences: [[5, 21]], blockSize: 4 }),
  sample({ name: 'paged, f16 cache', sequences: [[1, 33]], blockSize: 8, format: 'f16' }),
  sample({ name: 'paged, bf16 cache', sequences: [[1, 33]], blockSize: 8, format: 'bf16' }),
  sample({ name: 'paged, i8 cache', sequences: [[1, 33]], blockSize: 8, format: 'i8' }),
  sample({ ...contiguous, name: 'i8 cache', sequences: [[21, 40]], blockSize: 64, format: 'i8' }),
  sample({ name: 'paged, E4M3 cache', sequences: [[1, 33]], blockSize: 8, format: 'u8' }),
  sample({ ...contiguous, name: 'E4M3 cache', sequences: [[21, 40]], blockSize: 64, format: 'u8' }),
  sample({
    name: 'ragged: prefill beside decode',
    sequences: [
      [7, 7],
      [1, 18],
      [3, 9],
    ],
    blockSize: 8,
  }),
  sample({
    name: 'a sequence without rows',
    sequences: [
      [2, 4],
      [0, 6],
      [1, 1],
    ],
    blockSize: 4,
  }),
  sample({ name: 'every head its own keys', heads: [3, 3, 8], sequences: [[4, 9]], blockSize: 16 }),
  sample({ name: 'one kv head', heads: [8, 1, 24], sequences: [[2, 11]], blockSize: 16 }),
  sample({ name: 'odd head size', heads: [2, 1, 13], sequences: [[3, 10]], blockSize: 16 }),
  sample({ name: 'wide heads', heads: [2, 2, 128], sequences: [[3, 70]], blockSize: 128 }),
  sample({ name: 'sliding window', sequences: [[6, 20]], blockSize: 32, attrs: { window: 5 } }),
  sample({ name: 'soft cap', sequences: [[4, 12]], blockSize: 16, attrs: { softCap: 3, scale: 2 } }),
  sample({ name: 'not causal', sequences: [[4, 12]], blockSize: 16, attrs: { causal: 0 } }),
  sample({
    name: 'in bf16',
    sequences: [
      [40, 40],
      [2, 9],
      [19, 303],
    ],
    blockSize: 16,
    format: 'f16',
    attrs: { bf16: 1 },
  }),
  sample({
    name: 'in bf16: i8 cache',
    sequences: [[37, 37]],
    blockSize: 16,
    format: 'i8',
    attrs: { bf16: 1 },
  }),
  sample({
    name: 'in bf16: E4M3 cache',
    sequences: [[37, 37]],
    blockSize: 16,
    format: 'u8',
    attrs: { bf16: 1 },
  }),
  sample({
    name: 'in bf16: odd sizes, sliding window, soft cap',
    heads: [6, 2, 13],
    sequences: [[35, 300]],
    blockSize: 64,
    attrs: { bf16: 1, window: 33, softCap: 20 },
  }),
  sample({ name: 'scores far apart', sequences: [[2, 9]], blockSize: 16, attrs: { scale: 40 } }),
  ...prompts(),
  ...notFinite(),
  ...withSinks(),
];

export const attentionErrors = (): readonly ErrorSample[] => [
  {
    ...sample({ ...contiguous, name: 'more keys than the table holds' }),
    operands: { ...sample(contiguous).operands, kvLengths: ints([9]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...contiguous, name: 'a block outside the cache' }),
    operands: { ...sample(contiguous).operands, blockTable: ints([1], [1, 1]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...contiguous, name: 'a negative block' }),
    operands: { ...sample(contiguous).operands, blockTable: ints([-1], [1, 1]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...two, name: 'keys that lie in the next row of the table' }),
    operands: { ...sample(two).operands, kvLengths: ints([8, 4]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...two, name: 'a negative number of keys' }),
    operands: { ...sample(two).operands, cuSeqlens: ints([0, 0, 2]), kvLengths: ints([-1, 4]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...contiguous, name: 'row bounds that do not begin at 0' }),
    operands: { ...sample(contiguous).operands, cuSeqlens: ints([1, 3]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...two, name: 'row bounds that fall' }),
    operands: { ...sample(two).operands, cuSeqlens: ints([0, 3, 2]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  ...otherCaches.map(([name, shape]) => ({
    ...sample({ ...two, name: `V cache with other ${name}` }),
    operands: { ...sample(two).operands, vCache: normal(2, shape) },
    code: 'BAD_SHAPE' as const,
    when: 'record' as const,
  })),
  {
    ...sample({ ...contiguous, name: 'a window that is no whole number', attrs: { window: 2.5 } }),
    code: 'BAD_ARGUMENT',
    when: 'record',
  },
  {
    ...sample({ ...contiguous, name: 'fewer keys than rows' }),
    operands: { ...sample(contiguous).operands, kvLengths: ints([2]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...contiguous, name: 'row bounds that miss rows' }),
    operands: { ...sample(contiguous).operands, cuSeqlens: ints([0, 2]) },
    code: 'OUT_OF_RANGE',
    when: 'run',
  },
  {
    ...sample({ ...contiguous, name: 'heads no multiple of kv heads' }),
    operands: { ...sample(contiguous).operands, q: normal(1, [3, 3, 16]) },
    code: 'BAD_SHAPE',
    when: 'record',
  },
  {
    ...sample({ ...contiguous, name: 'a sink for fewer heads' }),
    operands: { ...sample(contiguous).operands, sinks: normal(3, [3]) },
    code: 'BAD_SHAPE',
    when: 'record',
  },
  {
    ...sample({ ...contiguous, name: 'negative window', attrs: { window: -1 } }),
    code: 'BAD_ARGUMENT',
    when: 'record',
  },
  {
    ...sample({ ...contiguous, name: 'bf16 neither 0 nor 1', attrs: { bf16: 2 } }),
    code: 'BAD_ARGUMENT',
    when: 'record',
  },
];
