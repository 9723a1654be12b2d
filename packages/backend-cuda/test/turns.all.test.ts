// Products of few rows with weights of blocks: a launch has the blocks that the processors have room for, each with turns of columns.
import './emulated.js';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownCodecs } from '@quern/conformance';
import type { Backend, Weight } from '@quern/core';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { blockMatrix, load, uniform } from './matrices.js';

interface Work {
  readonly rows: number;
  /** Columns of each matrix. */
  readonly columns: readonly number[];
  readonly depth: number;
  readonly format: string;
  readonly gated?: boolean;
}

interface Outcome {
  readonly values: readonly number[];
  /** Blocks of each launch of the kernels of few rows. */
  readonly blocks: readonly number[];
}

async function computed(backend: Backend, { rows, columns, depth, format, gated }: Work) {
  const codec = knownCodecs.find((each) => each.format === format)!;
  const weights: Weight[] = [];
  for (const width of columns)
    weights.push(await load(backend, blockMatrix(codec, width * depth), [width, depth]));
  using step = backend.step();
  const x = step.input(uniform(rows * depth, 1), [rows, depth]);
  const ys = weights.map((w) => backend.linear(x, w));
  const results = gated ? [backend.swiglu(ys[0]!, ys[1]!)] : ys;
  for (const y of results) step.keep(y);
  await step.run();
  const values: number[] = [];
  for (const y of results) values.push(...Array.from(await step.read(y), Number));
  return values;
}

/** The work on a GPU with this many processors. */
async function outcomeOf(work: Work, processors: number, compute = '90'): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'quern-turns-'));
  const file = join(folder, 'counts');
  const settings = {
    QUERN_EMULATED_PROCESSORS: `${processors}`,
    QUERN_EMULATED_COMPUTE: compute,
    QUERN_EMULATED_COUNTS: file,
  };
  let values: readonly number[] = [];
  await withSettings(settings, async () => {
    using backend = await createBackend({ precision: 'exact' });
    values = await computed(backend, work);
  });
  const launches = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  rmSync(folder, { recursive: true });
  const counted = launches.map((line) => JSON.parse(line) as { kernel: string; blocks: number });
  const few = counted.filter(({ kernel }) => /^(linear|gate_up)_few_/.test(kernel));
  return { values, blocks: few.map(({ blocks }) => blocks) };
}

// With K = 4096 four warps share a row: a block has 4 columns at a time. With 1024 and less each has its own.
test.each<[string, Work, number, number]>([
  ['turns that keep x', { rows: 1, columns: [70], depth: 4096, format: 'q4_k' }, 6, 18],
  ['two rows', { rows: 2, columns: [37], depth: 2048, format: 'q6_k' }, 3, 5],
  ['x of a turn is a part of K', { rows: 1, columns: [30], depth: 8192, format: 'q4_0' }, 4, 8],
  ['four rows: no turns', { rows: 4, columns: [70], depth: 512, format: 'q4_k' }, 5, 5],
  ['three matrices', { rows: 1, columns: [70, 9, 9], depth: 4096, format: 'q4_k' }, 7, 24],
  ['gate and up', { rows: 1, columns: [33, 33], depth: 4096, format: 'q4_k', gated: true }, 6, 17],
])('%s: the bits of a launch without turns', async (_, work, withTurns, without) => {
  const [small, large] = [await outcomeOf(work, 1), await outcomeOf(work, 132)];
  expect(small.blocks).toEqual([withTurns]);
  expect(large.blocks).toEqual([without]);
  expect(small.values).toEqual(large.values);
});

test('compute capability 8.0 has room for fewer blocks', async () => {
  const work = { rows: 1, columns: [70], depth: 4096, format: 'q4_k' };
  expect((await outcomeOf(work, 1, '80')).blocks).toEqual([6]);
  expect((await outcomeOf({ ...work, format: 'q8_0' }, 1, '80')).blocks).toEqual([5]);
});
