// Launches of each layer of a decoder on the emulated device (docs/cuda.md, counts).
import './emulated.js';
import {
  type Backend,
  contiguousKvCache,
  inputBatch,
  type Step,
  type Tensor,
  type Weight,
} from '@quern/core';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { launchesOfStep } from './launches.js';
import { bf16Matrix, load, uniform } from './matrices.js';

const [D, F, heads, kvHeads, headDim] = [128, 192, 4, 2, 32];

interface LayerWeights {
  readonly norm: Weight;
  readonly q: Weight;
  readonly kv: Weight;
  readonly o: Weight;
  readonly gate: Weight;
  readonly down: Weight;
}

async function loadLayer(backend: Backend): Promise<LayerWeights> {
  const matrix = (N: number, K: number) => load(backend, bf16Matrix(N, K, 1), [N, K]);
  const bytes = new Uint8Array(uniform(D, 2).buffer);
  return {
    norm: await backend.loadWeight({ name: 'norm', shape: [D], format: 'f32', bytes }),
    q: await matrix(heads * headDim, D),
    kv: await matrix(kvHeads * headDim, D),
    o: await matrix(D, heads * headDim),
    gate: await matrix(F, D),
    down: await matrix(D, F),
  };
}

/** `layers` layers of Llama on `rows` sequences of a row each; the weights are the same in all. */
async function launchesOfLayers(rows: number, layers: number): Promise<number> {
  using backend = await createBackend();
  const w = await loadLayer(backend);
  const shape = { layers, kvHeads, headDim, dtype: 'f16' as const, context: 8, sequences: rows };
  using cache = contiguousKvCache(backend, shape);
  const entries = Array.from({ length: rows }, () => ({ sequence: cache.sequence(), rows: 1 }));
  for (const { sequence } of entries) sequence.append(1);
  const attended = { heads, kvHeads, headDim, scale: headDim ** -0.5, causal: true, bf16: true };
  const norm = (x: Tensor) => backend.rmsNorm(x, w.norm, { eps: 1e-5 });
  const record = (step: Step): Tensor => {
    const batch = inputBatch(step, cache.describe(entries));
    const rotated = (x: Tensor, H: number) =>
      backend.rope(backend.view(x, [rows, H, headDim]), batch.positions, { theta: 1e4, layout: 'halves' });
    let x = step.input(uniform(rows * D, 3), [rows, D]);
    for (let i = 0; i < layers; i++) {
      const of = norm(x);
      const [q, k, v] = [w.q, w.kv, w.kv].map((weight) => backend.linear(of, weight)) as [
        Tensor,
        Tensor,
        Tensor,
      ];
      const query = rotated(q, heads);
      backend.kvAppend(
        cache.layer(i),
        rotated(k, kvHeads),
        backend.view(v, [rows, kvHeads, headDim]),
        batch.slots,
      );
      const y = backend.attention(query, cache.layer(i), batch, attended);
      const h = backend.add(x, backend.linear(backend.view(y, [rows, heads * headDim]), w.o));
      const n = norm(h);
      const gated = backend.swiglu(backend.linear(n, w.gate), backend.linear(n, w.gate));
      x = backend.add(h, backend.linear(gated, w.down));
    }
    return backend.linear(norm(x), w.gate);
  };
  const { launches } = await launchesOfStep(backend, (step) => [record(step)]);
  return Object.values(launches).reduce((sum, count) => sum + count, 0);
}

const launchesPerLayer = async (rows: number) =>
  (await launchesOfLayers(rows, 4)) - (await launchesOfLayers(rows, 3));

test.each([1, 2, 8])('%d rows: six launches per layer where attention has one part', async (rows) => {
  expect(await launchesPerLayer(rows)).toBe(6);
});

test('16 rows: twelve launches per layer, with all products in parts', async () => {
  await withSettings({ QUERN_CUDA_ROWS: '2' }, async () => expect(await launchesPerLayer(16)).toBe(12));
});
