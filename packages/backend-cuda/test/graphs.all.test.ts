// Segments of a plan that runs again: how many graphs a step is.
import './emulated.js';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend, Step, Tensor, Weight } from '@quern/core';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-graphs-'));
const file = join(folder, 'graphs');
afterAll(() => rmSync(folder, { recursive: true }));

const weight = (backend: Backend, shape: readonly number[]): Promise<Weight> => {
  const bytes = new Uint8Array(new Float32Array(shape.reduce((a, b) => a * b)).fill(1).buffer);
  return backend.loadWeight({ name: 'w', shape, format: 'f32', bytes });
};

/** Graphs of a replay of the step that `record` records. */
async function graphsOf(record: (backend: Backend, step: Step) => Promise<Tensor>): Promise<number> {
  using backend = await createBackend();
  const step = backend.step();
  const y = await record(backend, step);
  step.keep(y);
  using graph = await backend.graph!.capture(step);
  await graph.replay(); // launched op by op
  writeFileSync(file, '');
  await withSettings({ QUERN_EMULATED_GRAPHS: file }, async () => {
    await graph.replay();
  });
  expect(graph.read(y)[0]).toBeCloseTo(1, 4); // of tables and rows of ones
  return readFileSync(file).length;
}

/** A row through `ops` norms. */
const norms = (ops: number) => async (backend: Backend, step: Step) => {
  const w = await weight(backend, [8]);
  let y = step.input(new Float32Array(8).fill(1), [1, 8]);
  for (let i = 0; i < ops; i++) y = backend.rmsNorm(y, w, { eps: 1e-5 });
  return y;
};

test('a token of a small model is one graph: 28 layers of 8 ops, and 6', async () => {
  expect(await graphsOf(norms(28 * 8 + 6))).toBe(1);
});

test('a graph has at most 320 ops', async () => {
  expect(await graphsOf(norms(321))).toBe(2);
});

test('chains launch the graph of their step, made once', async () => {
  using backend = await createBackend();
  const table = await weight(backend, [8, 8]);
  const step = backend.step();
  const rows = new Int32Array(17);
  const [feed, at] = [step.input(rows), step.input(rows)];
  const output = backend.argmax(backend.embed(table, at));
  const chain = { output, feed, advance: [at], most: 8 };
  using graph = await backend.graph!.capture(step, { chain });
  const made = join(folder, 'made');
  const counts: number[][] = [];
  for (const [steps, options] of [
    [5, {}],
    [7, {}],
    [3, { onTokens() {} }],
  ] as const) {
    for (const each of [file, made]) writeFileSync(each, '');
    graph.write(at, rows);
    const limits = new Int32Array(new SharedArrayBuffer(4 * rows.length)).fill(steps);
    await withSettings({ QUERN_EMULATED_GRAPHS: file, QUERN_EMULATED_CAPTURED: made }, async () => {
      await graph.replayChain({ limits, ...options });
    });
    counts.push([made, file].map((each) => readFileSync(each).length));
  }
  expect(counts).toEqual([
    [1, 4], // the first step is launched op by op
    [0, 7],
    [0, 3],
  ]);
});

/** A product of rows of a table of 128 MiB, `count` of them for each row of y. */
const tables = (count: number, rows: number) => async (backend: Backend, step: Step) => {
  const table = await weight(backend, [1 << 20, 32]);
  const ids = step.input(new Int32Array(rows));
  let y = backend.embed(table, ids);
  for (let i = 1; i < count; i++) y = backend.mul(y, backend.embed(table, ids));
  return y;
};

test('a graph reads at most 16 GiB of weights', async () => {
  expect(await graphsOf(tables(128, 1))).toBe(1);
  expect(await graphsOf(tables(129, 1))).toBe(2);
}, 120_000);

test('many rows count as if weights were read for every 128', async () => {
  expect(await graphsOf(tables(64, 256))).toBe(1);
  expect(await graphsOf(tables(65, 256))).toBe(2);
}, 120_000);
