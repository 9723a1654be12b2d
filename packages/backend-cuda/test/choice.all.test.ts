// Tokens from more rows of logits than are sorted at a time, on the emulated device.
import './emulated.js';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { uniform } from './matrices.js';

const [rows, V, random] = [516, 8192, 4]; // four parts a row: 512 rows at a time
const folder = mkdtempSync(join(tmpdir(), 'quern-choice-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Greedy, but for a few rows on both sides of the limit. */
const isDrawn = (row: number) => row % 512 === 1 || row === 511;
const settings = Float32Array.from({ length: rows * 4 }, (_, i) =>
  isDrawn(Math.floor(i / 4)) ? [0.8, 40, 0.95, -5][i % 4]! : [0, 0, 1, -Infinity][i % 4]!,
);

test('each row is chosen as alone', async () => {
  const x = uniform(rows * V, 1).map((value) => 8 * value);
  const words = new Int32Array(uniform(2 * random, 2).buffer);
  using backend = await createBackend();
  const sampled = async (from: number, to: number) => {
    using step = backend.step();
    const count = to - from;
    const y = backend.sample(
      step.input(x.subarray(from * V, to * V), [count, V]),
      step.input(settings.subarray(from * 4, to * 4), [count, 4]),
      step.input(words, [random, 2]),
      step.input(
        Int32Array.from({ length: count }, (_, i) => (from + i) % random),
        [count],
      ),
    );
    return Array.from(await step.read(y), Number);
  };
  const file = join(folder, 'launches');
  let all: number[] = [];
  await withSettings({ QUERN_EMULATED_LAUNCHES: file }, async () => {
    all = await sampled(0, rows);
  });
  const launched = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  expect(launched).toEqual(['first_places', 'sample_parts', 'sample_merge', 'sample_parts', 'sample_merge']);
  for (let row = 0; row < rows; row++) {
    if (isDrawn(row)) expect(await sampled(row, row + 1)).toEqual([all[row]]);
    const of = x.subarray(row * V, (row + 1) * V);
    if (!isDrawn(row)) expect(all[row]).toBe(of.indexOf(Math.max(...of)));
  }
}, 120_000);
