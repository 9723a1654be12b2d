// A device that fails in mid-plan: what runs, what waits and what comes later rejects, and nothing hangs.
import { type Backend, contiguousKvCache, defineBackend, need, type Tensor } from '@quern/core';
import { type TestDevice, testDevice } from './driver.js';

const lost = expect.objectContaining({
  code: 'DEVICE_FAILED',
  message: expect.stringContaining('the test device is lost'),
});

async function open(plansInFlight: number): Promise<{ device: TestDevice; backend: Backend }> {
  const device = await testDevice({ plansInFlight });
  return { device, backend: defineBackend(device) };
}

async function longGraph(backend: Backend, ops: number) {
  need(backend, 'graph');
  const step = backend.step();
  const x = step.input(new Float32Array(4096).fill(1), [64, 64]);
  let y: Tensor = x;
  for (let i = 0; i < ops; i++) y = backend.softmax(y);
  return { graph: await backend.graph.capture(step), x, y };
}

describe.each([1, 2])('with %d plans in flight', (plansInFlight) => {
  test('the plan under way and those behind it reject with DEVICE_FAILED', async () => {
    const { device, backend } = await open(plansInFlight);
    const { graph } = await longGraph(backend, 100);
    const step = backend.step();
    backend.silu(step.input(Float32Array.of(1)));
    const running = [graph.replay(), graph.replay(), graph.replay(), step.run()];
    device.break();
    for (const end of await Promise.allSettled(running)) expect(end).toMatchObject({ reason: lost });
    backend.dispose();
  });

  test('what is asked for afterwards rejects too, and the backend can be disposed', async () => {
    const { device, backend } = await open(plansInFlight);
    const { graph } = await longGraph(backend, 10);
    const buffer = backend.kvBuffer({ blocks: 1, blockSize: 1, heads: 1, headDim: 4, dtype: 'f32' });
    device.break();
    await expect(graph.replay()).rejects.toEqual(lost);
    await expect(graph.replay()).rejects.toEqual(lost);
    await expect(buffer.readBlocks(0)).rejects.toEqual(lost);
    await expect(buffer.writeBlocks(0, new Uint8Array(16))).rejects.toEqual(lost);
    const source = { name: 'w', shape: [1], format: 'f32', bytes: new Uint8Array(4) } as const;
    await expect(backend.loadWeight(source)).rejects.toEqual(lost);
    const step = backend.step();
    const y = backend.silu(step.input(Float32Array.of(1)));
    await expect(step.read(y)).rejects.toEqual(lost);
    need(backend, 'graph');
    const another = backend.step();
    backend.silu(another.input(Float32Array.of(1)));
    await expect(backend.graph.capture(another)).rejects.toEqual(lost);
    const options = { layers: 1, kvHeads: 1, headDim: 4, dtype: 'f32', context: 8 } as const;
    contiguousKvCache(backend, { ...options, sequences: 1 }).dispose();
    graph.dispose();
    backend.dispose();
    await expect(graph.replay()).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  test('another device goes on', async () => {
    const [a, b] = [await open(plansInFlight), await open(plansInFlight)];
    const [first, second] = [await longGraph(a.backend, 50), await longGraph(b.backend, 2)];
    const failing = first.graph.replay();
    a.device.break();
    await expect(failing).rejects.toEqual(lost);
    a.backend.dispose();
    await second.graph.replay();
    expect(second.graph.read(second.y)[0]).toBeCloseTo(1 / 64);
    b.backend.dispose();
  });

  test('an abort of the plan under way lets it end, and stops the one behind it', async () => {
    const { device, backend } = await open(plansInFlight);
    const { graph } = await longGraph(backend, 1000);
    const controller = new AbortController();
    const { signal } = controller;
    const running = [graph.replay({ signal }), graph.replay({ signal }), graph.replay()];
    while (device.begun === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    const [first, second, third] = await Promise.allSettled(running);
    expect(first?.status).toBe('fulfilled');
    expect(second).toMatchObject({ reason: { code: 'ABORTED' } });
    expect(third?.status).toBe('fulfilled');
    backend.dispose();
  });
});
