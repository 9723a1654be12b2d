import type {
  Backend,
  BackendErrorCode,
  DenseFormat,
  WeightBytes,
  WeightSource,
  WeightUse,
} from '@quern/core';

import { denseFormats } from '@quern/core';
import { as, normal } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import { fresh } from '../ops/fresh.js';
import { compare, exact } from '../values/compare.js';
import { bytesOf, hostValues, received } from '../values/numbers.js';
import { ensure, refusal } from '../values/refusal.js';
import { withFile } from '../values/with-file.js';
import { proveUsable } from './errors.js';
import { denseInParts, partsRefused } from './weight-parts.js';

const on = fresh('weights');
const shape = [9, 35];
const table = (format: DenseFormat) => as(format, normal(5, shape));

/** Every row of a weight, read with `embed`. */
async function proveRows(backend: Backend, format: DenseFormat, bytes: WeightBytes): Promise<void> {
  const weight = await backend.loadWeight({ name: 'table', shape, format, bytes });
  const step = backend.step();
  const ids = step.input(Int32Array.of(8, 7, 6, 5, 4, 3, 2, 1, 0));
  const rows = backend.embed(weight, ids);
  const got = Float64Array.from(await step.read(rows));
  const want = received(table(format));
  const reversed = Float64Array.from(got, (_, i) => got[(8 - Math.floor(i / 35)) * 35 + (i % 35)]!);
  compare('the weight', { shape, data: reversed }, want, exact);
  weight.dispose();
}

const fromFile = (format: DenseFormat, offset: number): Case =>
  on(`${format} from a file, at byte ${offset}`, async (backend) => {
    const bytes = bytesOf(hostValues(table(format)));
    const file = new Uint8Array(offset + bytes.length + 11).fill(0xee);
    file.set(bytes, offset);
    await withFile(file, (path) => proveRows(backend, format, { path, offset, byteLength: bytes.length }));
  });

const refused = (
  name: string,
  code: BackendErrorCode,
  change: (source: WeightSource, path: string) => Partial<WeightSource>,
): Case =>
  on(name, async (backend) => {
    const bytes = bytesOf(hostValues(table('f32')));
    const source: WeightSource = { name: 'broken', shape, format: 'f32', bytes };
    await withFile(bytes, async (path) => {
      await refusal(code, () => backend.loadWeight({ ...source, ...change(source, path) }));
    });
    await proveUsable(backend);
  });

const byteLength = 4 * 9 * 35;

/** More than any layout of a matrix, padding included. */
const mostBytes = (source: number) => 16 * source + 2 ** 20;

/**
 * Rows are read back bit for bit, so a weight takes at least its bytes in the file. The planner relies on `byteLength`.
 */
const tellsBytes = (format: DenseFormat): Case =>
  on(`byteLength of ${format} covers the weight`, async (backend) => {
    const bytes = bytesOf(hostValues(table(format)));
    const weight = await backend.loadWeight({ name: 'table', shape, format, bytes });
    const said = weight.byteLength;
    ensure(
      Number.isSafeInteger(said) && said >= bytes.length && said <= mostBytes(bytes.length),
      `a weight of ${bytes.length} bytes says that it takes ${said}`,
    );
  });

/** `uses` selects a layout, not values: a weight works in ops outside its `uses`. */
const worksInEveryOp = (uses: readonly WeightUse[]): Case =>
  on(`uses [${uses.join(', ')}] are a hint`, async (backend) => {
    const [rows, columns] = [9, 35];
    const bytes = bytesOf(hostValues(table('f32')));
    const weight = await backend.loadWeight({ name: 'table', shape, format: 'f32', bytes, uses });
    const step = backend.step();
    const unit = Float32Array.from({ length: columns * columns }, (_, i) => Number(i % (columns + 1) === 0));
    const row = backend.linear(step.input(unit.subarray(0, columns), [1, columns]), weight); // [1, 9]
    const all = backend.linear(step.input(unit, [columns, columns]), weight); // [35, 9]
    const embedded = backend.embed(weight, step.input(Int32Array.from({ length: rows }, (_, i) => i)));
    for (const tensor of [row, all, embedded]) step.keep(tensor);
    await step.run();
    const want = received(table('f32'));
    const transposed = Float64Array.from(
      want.data,
      (_, i) => want.data[(i % rows) * columns + Math.floor(i / rows)]!,
    );
    const wanted = [transposed.slice(0, rows), transposed, want.data];
    for (const [i, tensor] of [row, all, embedded].entries()) {
      const data = Float64Array.from(await step.read(tensor));
      compare(
        ['linear of a row', 'linear of rows', 'embed'][i]!,
        { shape: tensor.shape, data },
        { shape: tensor.shape, data: wanted[i]! },
        () => 1e-5,
      );
    }
  });

const uses: readonly (readonly WeightUse[])[] = [[], ['embed'], ['row'], ['rows'], ['embed', 'row', 'rows']];

/** Weights from memory and from files, good ones and broken ones. */
export const weights: Suite = () => [
  ...denseFormats.map((format) =>
    on(`${format} from memory`, (backend) => proveRows(backend, format, bytesOf(hostValues(table(format))))),
  ),
  ...denseFormats.flatMap((format) => [0, 36, 4096 + 32].map((offset) => fromFile(format, offset))),
  ...denseFormats.map(tellsBytes),
  ...uses.map(worksInEveryOp),
  on('from a part of an array', async (backend) => {
    const bytes = bytesOf(hostValues(table('f32')));
    const larger = new Uint8Array(bytes.length + 64);
    larger.set(bytes, 36);
    await proveRows(backend, 'f32', larger.subarray(36, 36 + bytes.length));
  }),
  refused('too few bytes', 'BAD_WEIGHT', () => ({ bytes: new Uint8Array(byteLength - 4) })),
  refused('too many bytes', 'BAD_WEIGHT', () => ({ bytes: new Uint8Array(byteLength + 4) })),
  refused('too few bytes of a file', 'BAD_WEIGHT', (_, path) => ({
    bytes: { path, offset: 0, byteLength: byteLength - 4 },
  })),
  refused('a slice past the end of its file', 'BAD_WEIGHT', (_, path) => ({
    bytes: { path, offset: 8, byteLength },
  })),
  refused('an offset far outside the file', 'BAD_WEIGHT', (_, path) => ({
    bytes: { path, offset: 2 ** 40, byteLength },
  })),
  refused('a negative offset', 'BAD_WEIGHT', (_, path) => ({ bytes: { path, offset: -4, byteLength } })),
  refused('a missing file', 'BAD_WEIGHT', (_, path) => ({
    bytes: { path: `${path}.missing`, offset: 0, byteLength },
  })),
  refused('a shape without elements', 'BAD_WEIGHT', () => ({ shape: [0, 35], bytes: new Uint8Array(0) })),
  refused('an unknown format', 'UNSUPPORTED', () => ({ format: 'q17_z' })),
  ...denseFormats.flatMap((format) => denseInParts('weights', format)),
  ...partsRefused('weights'),
];
