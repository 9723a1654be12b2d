// Steps that rotate by position chain on a device without float64: the table of angles is the device's own.
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, type CapturedGraph, defineBackend, need } from '@quern/core';
import { normal } from '@quern/core/testing';
import { testDevice } from './driver.js';

const [V, d, replays] = [37, 16, 12];

/** Steps of 2 rows: a token is embedded, rotated by its position, and multiplied with the embeddings of all tokens. */
async function captured(backend: Backend, most = replays): Promise<CapturedGraph> {
  need(backend, 'graph');
  const { values } = normal(5, [V, d]);
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  const table = await backend.loadWeight({ name: 'w', shape: [V, d], format: 'f32', bytes });
  const step = backend.step();
  const ids = step.input(Int32Array.of(1, 30));
  const positions = step.input(Int32Array.of(0, 100_000));
  const x = backend.view(backend.embed(table, ids), [2, 1, d]);
  const turned = backend.rope(x, positions, { theta: 10_000, layout: 'halves' });
  const next = backend.argmax(backend.linear(backend.view(turned, [2, d]), table));
  step.keep(next);
  const chain = { output: next, feed: ids, advance: [positions], most };
  return backend.graph.capture(step, { chain });
}

const limitsOf = (limit: number) => new Int32Array(new SharedArrayBuffer(8)).fill(limit);

async function chained(backend: Backend): Promise<readonly number[]> {
  using graph = await captured(backend);
  const limits = limitsOf(replays);
  return [...(await graph.replayChain({ limits })).tokens];
}

test('a chain is one run of the device, with the tokens of the reference', async () => {
  const device = await testDevice();
  using backend = defineBackend(device);
  using reference = await createReference();
  expect(backend.filled).toEqual({ sample: 'host' });
  const tokens = await chained(backend);
  expect(tokens).toHaveLength(2 * replays);
  expect(new Set(tokens).size).toBeGreaterThan(2);
  expect(tokens).toEqual(await chained(reference));
  expect(device.spans).toHaveLength(1);
});

test('a listener ends a chain that has only begun', async () => {
  const long = 20_000; // minutes
  const device = await testDevice({ pace: 5 });
  using backend = defineBackend(device);
  using graph = await captured(backend, long);
  const limits = limitsOf(long);
  const { counts } = await graph.replayChain({ limits, onTokens: () => limits.fill(0) });
  expect(counts[0]).toBeLessThan(long);
  expect(device.begun).toBe(counts[0]);
});

test('replays go on while JavaScript is busy: all that it missed come one after another', async () => {
  const device = await testDevice();
  using backend = defineBackend(device);
  using graph = await captured(backend);
  const steps: number[] = [];
  await graph.replayChain({
    limits: limitsOf(replays),
    onTokens(_tokens, step) {
      steps.push(step);
      while (device.begun < replays); // JavaScript is busy until the device is at its last replay
    },
  });
  expect(steps).toEqual([...steps.keys()]);
  expect(steps).toHaveLength(replays);
});
