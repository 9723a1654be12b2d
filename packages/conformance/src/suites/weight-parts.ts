import {
  type Backend,
  type BackendErrorCode,
  elementCount,
  type WeightFormat,
  type WeightPart,
  type WeightSource,
} from '@quern/core';
import { as, normal } from '@quern/core/testing';
import type { Case } from '../case.js';
import type { Codec } from '../conformance-options.js';
import { floats, fresh } from '../ops/fresh.js';
import { bytesOf, hostValues, type Operand } from '../values/numbers.js';
import { randomWeight } from '../values/random-weight.js';
import { ensure, refusal } from '../values/refusal.js';
import { withFile } from '../values/with-file.js';
import { proveUsable } from './errors.js';

type Rows = readonly Uint8Array[];

/** A weight in one piece, and its stored rows. */
interface Whole {
  readonly source: WeightSource;
  readonly rows: Rows;
  /** Elements per block: 1 in a dense format. */
  readonly blockSize: number;
}

function wholeOf(operand: Operand, blockSize: number): Whole {
  const { shape, format } = operand;
  const bytes = operand.bytes ?? bytesOf(hostValues(operand));
  const count = elementCount(shape.length > 1 ? shape.slice(0, -1) : shape);
  const rowBytes = bytes.length / count;
  const rows = Array.from({ length: count }, (_, i) => bytes.subarray(i * rowBytes, (i + 1) * rowBytes));
  return { source: { name: 'whole', shape, format, bytes }, rows, blockSize };
}

const join = (rows: Rows): Uint8Array => new Uint8Array(Buffer.concat(rows));

/** Parts of `counts` rows: no part ends at a multiple of 8 or 16 rows. */
const cut = ({ rows }: Whole, counts: readonly number[] = [7, 20, 13]): Rows[] =>
  counts.map((count, i) => {
    const first = counts.slice(0, i).reduce((sum, before) => sum + before, 0);
    return rows.slice(first, first + count);
  });

const inMemory = (rows: Rows): WeightPart => ({ bytes: join(rows), rows: rows.length });

/** The rows as columns of longer rows: one block before them, two blocks after. */
function widened({ source, blockSize }: Whole, rows: Rows): WeightPart {
  const width = source.shape[source.shape.length - 1]!;
  const block = (rows[0]!.length / width) * blockSize;
  const other = (blocks: number) => new Uint8Array(blocks * block).fill(0x3c);
  const bytes = join(rows.map((row) => join([other(1), row, other(2)])));
  return { bytes, rows: rows.length, columns: { from: blockSize, of: width + 3 * blockSize } };
}

/** Results of ops on a weight, bit for bit: its rows, and its products with one row of x and with many. */
async function seen(backend: Backend, source: WeightSource): Promise<readonly number[]> {
  const weight = await backend.loadWeight(source);
  const step = backend.step();
  const [N, K] = source.shape as [number, number];
  const of = (T: number) => step.input(floats(...Array.from(normal(T, [T, K]).values)), [T, K]);
  const rows = backend.embed(weight, step.input(Int32Array.from({ length: N }, (_, i) => i)));
  const values: number[] = [];
  for (const y of [rows, backend.linear(of(1), weight), backend.linear(of(20), weight)])
    values.push(...Array.from(await step.read(y)));
  weight.dispose();
  return values;
}

/** As `seen`, for a stack [3, N, K]. */
async function seenStack(backend: Backend, source: WeightSource): Promise<readonly number[]> {
  const weight = await backend.loadWeight(source);
  const step = backend.step();
  const K = source.shape[2]!;
  const x = step.input(floats(...Array.from(normal(3, [4, K]).values)), [4, K]);
  const ids = step.input(Int32Array.of(0, 1, 1, 2, 2, 0, 0, 2), [4, 2]);
  const values = Array.from(await step.read(backend.expertLinear(x, weight, ids)));
  weight.dispose();
  return values;
}

/** As `seen`, for a vector [N]. */
async function seenVector(backend: Backend, source: WeightSource): Promise<readonly number[]> {
  const weight = await backend.loadWeight(source);
  const step = backend.step();
  const N = source.shape[0]!;
  const x = step.input(floats(...Array.from(normal(3, [2, N]).values)), [2, N]);
  const values = Array.from(await step.read(backend.rmsNorm(x, weight, { eps: 1e-6 })));
  weight.dispose();
  return values;
}

async function proveSame(
  backend: Backend,
  { source }: Whole,
  parts: readonly WeightPart[],
  look: (backend: Backend, source: WeightSource) => Promise<readonly number[]> = seen,
): Promise<void> {
  const want = await look(backend, source);
  const got = await look(backend, { ...source, name: 'in parts', bytes: parts });
  const wrong = want.findIndex((value, i) => !Object.is(value, got[i]));
  ensure(
    wrong < 0,
    `a weight in ${parts.length} parts gives ${got[wrong]} where the same weight in one piece gives ${want[wrong]}`,
  );
}

/** Parts in a file, in another order than in the weight, at unaligned offsets. */
async function proveFiles(backend: Backend, whole: Whole): Promise<void> {
  const [a, b, c] = cut(whole).map(join) as [Uint8Array, Uint8Array, Uint8Array];
  const file = join([new Uint8Array(5), c, a, b]);
  await withFile(file, (path) => {
    const slice = (offset: number, part: Uint8Array): WeightPart => ({
      bytes: { path, offset, byteLength: part.length },
      rows: part.length / whole.rows[0]!.length,
    });
    const parts = [slice(5 + c.length, a), slice(5 + c.length + a.length, b), slice(5, c)];
    return proveSame(backend, whole, parts);
  });
}

/** The same weight in one piece and in parts, in one format. */
function same(
  suite: string,
  format: WeightFormat,
  matrix: Operand,
  stack: Operand,
  blockSize: number,
): Case[] {
  const on = fresh(suite);
  const whole = () => wholeOf(matrix, blockSize);
  return [
    on(`${format} in parts of rows, in memory`, (backend) =>
      proveSame(backend, whole(), cut(whole()).map(inMemory)),
    ),
    on(`${format} in parts of rows, in a file`, (backend) => proveFiles(backend, whole())),
    on(`${format}: columns of longer rows`, (backend) =>
      proveSame(backend, whole(), [widened(whole(), whole().rows)]),
    ),
    on(`${format}: columns of longer rows, and whole rows`, (backend) => {
      const [a, b, c] = cut(whole()) as [Rows, Rows, Rows];
      return proveSame(backend, whole(), [inMemory(a), widened(whole(), b), inMemory(c)]);
    }),
    on(`${format}: a stack of matrices that are parts`, (backend) => {
      const stacked = wholeOf(stack, blockSize);
      return proveSame(backend, stacked, cut(stacked, [17, 17, 17]).map(inMemory), seenStack);
    }),
    on(`${format}: a stack in parts that cut its matrices`, (backend) => {
      const stacked = wholeOf(stack, blockSize);
      return proveSame(backend, stacked, cut(stacked, [20, 10, 21]).map(inMemory), seenStack);
    }),
  ];
}

/** Weights in a dense format. */
export function denseInParts(suite: string, format: WeightFormat): Case[] {
  const vector = wholeOf(as(format, normal(2, [40])), 1);
  return [
    ...same(suite, format, as(format, normal(5, [40, 35])), as(format, normal(6, [3, 17, 24])), 1),
    fresh(suite)(`${format}: a vector in parts`, (backend) =>
      proveSame(backend, vector, cut(vector).map(inMemory), seenVector),
    ),
  ];
}

/** Weights in a block format; columns begin and end at block borders. */
export function blocksInParts(suite: string, codec: Codec): Case[] {
  const { format, blockSize } = codec;
  const matrix = randomWeight(codec, 60, [40], 2);
  const halfway = (from: number) =>
    on(`${format}: columns that begin within a block, at ${from}`, async (backend) => {
      const whole = wholeOf(randomWeight(codec, 61, [4], 3), blockSize);
      const columns = { from, of: 3 * blockSize };
      const bytes = [{ bytes: join(whole.rows), rows: 4, columns }];
      const source = { name: 'broken', shape: [4, blockSize], format, bytes };
      await refusal('BAD_WEIGHT', () => backend.loadWeight(source));
      await proveUsable(backend);
    });
  const on = fresh(suite);
  return [
    ...same(suite, format, matrix, randomWeight(codec, 62, [3, 17], 2), blockSize),
    ...(blockSize > 1 ? [halfway(blockSize / 2), halfway(1)] : []),
  ];
}

const bytes = (count: number) => new Uint8Array(4 * count);

const refused: Readonly<Record<string, readonly WeightPart[]>> = {
  'no parts': [],
  'parts with too few rows': [{ bytes: bytes(8), rows: 2 }],
  'parts with too many rows': [
    { bytes: bytes(8), rows: 2 },
    { bytes: bytes(12), rows: 3 },
  ],
  'a part of half a row': [
    { bytes: bytes(2), rows: 0.5 },
    { bytes: bytes(14), rows: 3.5 },
  ],
  'a part with too few bytes': [
    { bytes: bytes(8), rows: 2 },
    { bytes: bytes(7), rows: 2 },
  ],
  'a part with too many bytes': [{ bytes: bytes(17), rows: 4 }],
  'columns past the end of the rows': [{ bytes: bytes(24), rows: 4, columns: { from: 3, of: 6 } }],
  'columns before the rows': [{ bytes: bytes(24), rows: 4, columns: { from: -1, of: 6 } }],
  'columns of rows that are shorter': [{ bytes: bytes(12), rows: 4, columns: { from: 0, of: 3 } }],
  'a part past the end of its file': [
    { bytes: bytes(8), rows: 2 },
    { bytes: { path: process.execPath, offset: 2 ** 40, byteLength: 32 }, rows: 2 },
  ],
};

/** Parts that do not make up a weight [4, 4] of f32. */
export const partsRefused = (suite: string, code: BackendErrorCode = 'BAD_WEIGHT'): Case[] =>
  Object.entries(refused).map(([name, parts]) =>
    fresh(suite)(name, async (backend) => {
      const source: WeightSource = { name: 'broken', shape: [4, 4], format: 'f32', bytes: parts };
      await refusal(code, () => backend.loadWeight(source));
      await proveUsable(backend);
    }),
  );
