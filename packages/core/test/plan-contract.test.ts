// Contract between core and a plan driver, beyond the encoded words.
import {
  type Backend,
  type BackendOptions,
  defineBackend,
  type EncodedPlan,
  faultCodes,
  need,
  type PlanExecutor,
  type PlanIo,
  rehearse,
} from '../src/index.js';
import { definitionDriver } from './definition-driver.js';

function planBackend(executor: PlanExecutor, options: BackendOptions = {}): Backend {
  const { kernels: _kernels, ...rest } = definitionDriver();
  return defineBackend({ ...rest, executor, capabilities: { graph: true } }, options);
}

async function weight(backend: Backend, name: string, shape: readonly number[]) {
  const bytes = new Uint8Array(4 * shape.reduce((n, d) => n * d, 1));
  return backend.loadWeight({ name, shape, format: 'f32', bytes });
}

/** silu(embed(ids)) · w of two weights. */
async function recorded(backend: Backend) {
  const [table, w] = [await weight(backend, 'token_embd', [3, 4]), await weight(backend, 'blk.0.up', [2, 4])];
  const step = backend.step();
  const y = backend.linear(backend.silu(backend.embed(table, step.input(Int32Array.of(1)))), w);
  return { step, y };
}

/** An executor that runs `act` for each plan. */
const executor = (act: (plan: EncodedPlan, io: PlanIo) => Promise<void>): PlanExecutor => ({
  execute: act,
  capture: (plan, io) => ({ replay: () => act(plan, io), dispose() {} }),
});

const flagging = (op: number, code: number) =>
  executor(async (_plan, { fault }) => fault.set([op + 1, code]));

describe('an op that fails on the device', () => {
  test('is named if the driver sets a flag, and nothing can be read', async () => {
    const backend = planBackend(flagging(0, faultCodes.OUT_OF_RANGE));
    const { step, y } = await recorded(backend);
    const failed = {
      code: 'OUT_OF_RANGE',
      message: "[embed] an index lies outside its range (op 1 of 3, 'embed token_embd')",
    };
    await expect(step.run()).rejects.toMatchObject(failed);
    await expect(step.read(y)).rejects.toMatchObject(failed);
  });

  test('without a weight is named by the weight before it', async () => {
    const { step } = await recorded(planBackend(flagging(1, faultCodes.DEVICE_FAILED)));
    await expect(step.run()).rejects.toMatchObject({
      code: 'DEVICE_FAILED',
      message: expect.stringContaining("'silu after token_embd'"),
    });
  });

  test('is named in the rejection of the driver', async () => {
    const lost = new RangeError('the cable is out');
    const backend = planBackend(
      executor(async (_plan, { fault }) => {
        fault[0] = 3;
        throw lost;
      }),
    );
    const { step } = await recorded(backend);
    await expect(step.run()).rejects.toMatchObject({
      code: 'DEVICE_FAILED',
      message: expect.stringMatching(/the cable is out \(op 3 of 3, 'linear blk.0.up'\)$/),
      cause: lost,
    });
  });

  test.each([
    [7, 1],
    [0, 99],
  ])("op %d with code %d is the driver's mistake", async (op, code) => {
    const { step } = await recorded(planBackend(flagging(op, code)));
    await expect(step.run()).rejects.toMatchObject({ code: 'BAD_DRIVER' });
  });

  test('does not spoil the next replay', async () => {
    let op = 1;
    const backend = planBackend(
      executor(async (_plan, { fault }) => {
        if (op > 0) fault.set([op, faultCodes.OUT_OF_RANGE]);
      }),
    );
    need(backend, 'graph');
    const graph = await backend.graph.capture((await recorded(backend)).step);
    await expect(graph.replay()).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
    op = 0;
    await graph.replay();
  });

  test('ends a chain with the replay that flags it', async () => {
    let replays = 0;
    const backend = planBackend(
      executor(async (_plan, { fault }) => {
        if (++replays === 3) fault.set([2, faultCodes.OUT_OF_RANGE]);
      }),
    );
    need(backend, 'graph');
    const step = backend.step();
    const ids = step.input(Int32Array.of(0));
    const output = backend.argmax(backend.embed(await weight(backend, 'token_embd', [3, 4]), ids));
    const chain = { output, feed: ids, advance: [], most: 8 };
    const graph = await backend.graph.capture(step, { chain });
    const limits = new Int32Array(new SharedArrayBuffer(4)).fill(8);
    await expect(graph.replayChain({ limits })).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
    expect(replays).toBe(3);
    expect((await graph.replayChain({ limits })).tokens).toHaveLength(8);
  });

  test('is named for a table of kernels', async () => {
    const backend = defineBackend(definitionDriver());
    const table = await weight(backend, 'token_embd', [3, 4]);
    const step = backend.step();
    backend.embed(table, step.input(Int32Array.of(7)));
    await expect(step.run()).rejects.toMatchObject({
      code: 'OUT_OF_RANGE',
      message: expect.stringContaining("(op 1 of 1, 'embed token_embd')"),
    });
  });
});

test('host memory of inputs is freed with the plan unless a caller has an array in it; of outputs never', async () => {
  const given: ArrayBuffer[] = [];
  const uses: string[] = [];
  const backend = planBackend({
    ...executor(async () => {}),
    hostMemory(byteLength, use) {
      uses.push(use);
      return new ArrayBuffer(byteLength);
    },
    freeHostMemory: (memory) => void given.push(memory),
  });
  const { step, y } = await recorded(backend);
  expect((await step.read(y)).length).toBe(2);
  expect(uses).toEqual(['inputs', 'outputs']);
  expect(given).toHaveLength(1);
  need(backend, 'graph');
  const second = backend.step();
  const x = second.input(Float32Array.of(1));
  backend.silu(x);
  const graph = await backend.graph.capture(second);
  graph.read(x);
  graph.dispose();
  expect(given).toHaveLength(1);
});

test('an input can be read when its plan has ended', async () => {
  const backend = planBackend({
    ...executor(async () => {}),
    hostMemory: (byteLength) => new ArrayBuffer(byteLength),
    freeHostMemory: (memory) => void structuredClone(memory, { transfer: [memory] }),
  });
  const step = backend.step();
  const x = step.input(Float32Array.of(1, 2));
  backend.silu(x);
  await step.run();
  expect(await step.read(x)).toEqual(Float32Array.of(1, 2));
});

test("placing 'driver' gives every temporary its own offset", async () => {
  const seen: EncodedPlan[] = [];
  const { kernels: _kernels, profile, ...rest } = definitionDriver();
  const arenaOf = async (placing: 'core' | 'driver') => {
    const backend = defineBackend({
      ...rest,
      profile: { ...profile, placing },
      executor: executor(async (plan) => void seen.push(plan)),
    });
    const step = backend.step();
    let x = step.input(new Float32Array(16));
    for (let i = 0; i < 5; i++) x = backend.silu(x) as typeof x;
    await step.run();
    return seen.pop()!;
  };
  expect((await arenaOf('core')).arenaBytes).toBe(2 * 64);
  const { arenaBytes, lifetimes } = await arenaOf('driver');
  expect(arenaBytes).toBe(4 * 64);
  expect([...lifetimes]).toEqual([0, 1, 2, 3].flatMap((i) => [64 * i, 64, i, i + 1]));
});

describe('memory of a step', () => {
  test('is reported without a run, and the step goes on', async () => {
    const backend = defineBackend(definitionDriver());
    const step = backend.step();
    let x = backend.silu(step.input(new Float32Array(16)));
    expect(step.memory()).toEqual({ arenaBytes: 0, inputsBytes: 64, outputsBytes: 64 });
    for (let i = 0; i < 5; i++) x = backend.silu(x);
    expect(step.memory()).toEqual({ arenaBytes: 128, inputsBytes: 64, outputsBytes: 64 });
    expect((await step.read(x)).length).toBe(16);
    expect(() => step.memory()).toThrow(expect.objectContaining({ code: 'STEP_FINISHED' }));
  });

  test('a rehearsal reports the same as the backend, without memory or runs', async () => {
    const ledger = { buffers: 0, weights: 0, disposals: 0 };
    const backend = defineBackend(definitionDriver(ledger), { fuse: ['addRmsNorm'] });
    const rehearsal = rehearse(backend);
    const steps = await Promise.all([backend, rehearsal].map(recorded));
    expect(steps[1]!.step.memory()).toEqual(steps[0]!.step.memory());
    expect(ledger).toMatchObject({ buffers: 0, weights: 2 });
    expect([rehearsal.name, rehearsal.profile]).toEqual([backend.name, backend.profile]);
    need(rehearsal, 'graph');
    const refused = { code: 'UNSUPPORTED', message: expect.stringContaining('a rehearsal of') };
    const spec = { blocks: 1, blockSize: 1, heads: 1, headDim: 2, dtype: 'f32' } as const;
    await expect((await rehearsal.graph.capture(steps[1]!.step)).replay()).rejects.toMatchObject(refused);
    await expect(rehearsal.kvBuffer(spec).readBlocks(0)).rejects.toMatchObject(refused);
    const { step } = await recorded(rehearsal);
    await expect(step.run()).rejects.toMatchObject(refused);
    rehearsal.dispose();
    expect(ledger.disposals).toBe(0);
  });

  test('a backend of another copy of core cannot be rehearsed', () => {
    const foreign = { ...defineBackend(definitionDriver()) };
    expect(() => rehearse(foreign)).toThrow(expect.objectContaining({ code: 'WRONG_CONTRACT' }));
  });
});
