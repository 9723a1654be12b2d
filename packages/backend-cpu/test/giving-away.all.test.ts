// JavaScript transfers, resizes or collects memory while native threads use it; also in workers.
import { spawnSync } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Backend, defineBackend, type PlanDriver, type WeightSource } from '@quern/core';
import { normal } from '@quern/core/testing';
import { cpuDriver } from '../src/index.js';
import { allOps, bytesOf, prepare } from './single-op.js';

let driver: PlanDriver;
let backend: Backend;
/** A plan of some milliseconds over a million elements, for workers: they have the addon without TypeScript. */
let words: readonly number[];
beforeAll(async () => {
  driver = await cpuDriver({ threads: 2 });
  backend = defineBackend({ ...driver, dispose: () => {} });
  words = Array.from((await million(20)).plan.words);
});
afterAll(() => driver.dispose());

interface Resizable extends ArrayBuffer {
  resize(byteLength: number): void;
}

/** A resizable ArrayBuffer. */
const resizable = (byteLength: number): Resizable =>
  Reflect.construct(ArrayBuffer, [byteLength, { maxByteLength: byteLength }]);

/** `ops` activations of a million elements each. */
function million(ops: number, on: PlanDriver = driver) {
  const x = { shape: [1 << 20], format: 'f32', values: new Float32Array(1 << 20) };
  return prepare(on, allOps.silu!, { name: '', operands: { x }, attributes: {} }, ops);
}

/** Same effect as postMessage with a transfer list. Node refuses or copies memory owned by native code. */
function giveAway(buffer: ArrayBufferLike): void {
  try {
    structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  } catch (error) {
    expect(error).toMatchObject({ name: 'DataCloneError' });
  }
  (buffer as { transfer?: () => unknown }).transfer?.();
}

const values = normal(1, [8, 32]);
const source = (bytes: Uint8Array): WeightSource => ({ name: 'w', shape: [8, 32], format: 'f32', bytes });

/** Row 7 of a loaded matrix [8, 32]. */
async function lastRow(load: () => ReturnType<PlanDriver['loadWeight']>): Promise<number[]> {
  const ids = { shape: [1], format: 'i32', values: [7] };
  const sample = { name: '', operands: { table: values, ids }, attributes: {} };
  const single = await prepare({ ...driver, loadWeight: load }, allOps.embed!, sample);
  await driver.executor.execute(single.plan, single.io);
  return Array.from((await single.results())[0]!);
}

const expected = Array.from(values.values).slice(7 * 32);

describe('bytes of a weight', () => {
  test('transferred right after the call', async () => {
    const bytes = bytesOf(values);
    const loading = driver.loadWeight(source(bytes));
    giveAway(bytes.buffer);
    expect(await lastRow(() => loading)).toEqual(expected);
  });

  test('in shared memory, overwritten right after the call', async () => {
    const bytes = new Uint8Array(new SharedArrayBuffer(1024));
    bytes.set(bytesOf(values));
    const loading = driver.loadWeight(source(bytes));
    bytes.fill(0xff);
    expect(await lastRow(() => loading)).toEqual(expected);
  });

  test.each<[string, (buffer: Resizable) => void]>([
    ['transferred', (buffer) => void structuredClone(buffer, { transfer: [buffer] })],
    ['resized', (buffer) => buffer.resize(100)],
  ])('%s before the copy ends', async (_, take) => {
    const byteLength = 48 << 20; // several turns of the event loop
    const buffer = resizable(byteLength);
    const loading = driver.loadWeight({
      name: 'large',
      shape: [byteLength / 4],
      format: 'f32',
      bytes: new Uint8Array(buffer),
    });
    take(buffer);
    await expect(loading).rejects.toMatchObject({
      code: 'BAD_WEIGHT',
      message: expect.stringMatching(/'large'.*transferred or resized/),
    });
  });

  test('in the parts of a stack and of a GPTQ matrix', async () => {
    const half = () => bytesOf(values).slice(0, 512);
    const parts = [half(), half()];
    const stack = driver.loadWeight({
      ...{ name: 'w', shape: [2, 4, 32], format: 'f32' },
      bytes: parts.map((bytes) => ({ bytes, rows: 4 })),
    });
    for (const { buffer } of parts) giveAway(buffer);
    expect((await stack).byteLength).toBe(1024);
    const gptq = [4 * 32 * 4, 8 * 4, 2 * 32 * 2].map((length) => new Uint8Array(length));
    const [qweight, qzeros, scales] = gptq as [Uint8Array, Uint8Array, Uint8Array];
    const loading = driver.loadGptq!({
      name: 'gptq',
      shape: [32, 32],
      bits: 4,
      groupSize: 16,
      version: 1,
      qweight,
      qzeros,
      scales,
    });
    for (const { buffer } of gptq) giveAway(buffer);
    expect((await loading).id).toBeGreaterThan(0);
  });
});

/** A step of some milliseconds: its captured form, its input and its output. */
async function longStep() {
  const step = backend.step();
  const x = step.input(new Float32Array(1 << 20).fill(2), [1024, 1024]);
  let y = backend.scale(x, 1);
  for (let i = 0; i < 60; i++) y = backend.scale(y, 1);
  step.keep(y);
  return { graph: await backend.graph!.capture(step), x, y };
}

describe('the memory of a captured step', () => {
  test('given away during a replay', async () => {
    const { graph, x, y } = await longStep();
    await graph.replay();
    for (const tensor of [y, x]) {
      const running = graph.replay();
      const view = graph.read(tensor);
      await setImmediate();
      giveAway(view.buffer);
      globalThis.gc?.();
      await running;
      if (view.length > 0) expect(view[1000]).toBe(2);
      else expect(() => graph.read(tensor)).toThrow(expect.objectContaining({ code: 'BAD_ARGUMENT' }));
    }
    graph.dispose();
  });

  test('read after dispose of the step and its backend', async () => {
    const own = defineBackend(await cpuDriver({ threads: 1 }));
    const step = own.step();
    const y = own.scale(step.input(new Float32Array(4096).fill(3)), 2);
    step.keep(y);
    const graph = await own.graph!.capture(step);
    await graph.replay();
    const view = graph.read(y);
    graph.dispose();
    own.dispose();
    for (let i = 0; i < 5; i++) {
      globalThis.gc?.();
      await setImmediate();
    }
    expect(view.every((value) => value === 6)).toBe(true);
  });

  test('dispose of the backend during a step', async () => {
    const own = await cpuDriver({ threads: 2 });
    const { plan, io } = await million(500, own);
    const lent = {
      ...io,
      inputs: own.executor.hostMemory!(1 << 22, 'inputs'),
      outputs: own.executor.hostMemory!(1 << 22, 'outputs'),
    };
    const running = own.executor.execute(plan, lent);
    await setImmediate();
    own.dispose();
    await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
  });
});

describe('ordinary memory, which is copied', () => {
  test('gives the same results as memory of the driver', async () => {
    const x = normal(4, [3, 1000]);
    const single = await prepare(driver, allOps.silu!, { name: '', operands: { x }, attributes: {} });
    const own = {
      ...single.io,
      inputs: driver.executor.hostMemory!(single.io.inputs.byteLength, 'inputs'),
      outputs: driver.executor.hostMemory!(single.io.outputs.byteLength, 'outputs'),
    };
    new Uint8Array(own.inputs).set(new Uint8Array(single.io.inputs));
    await driver.executor.execute(single.plan, single.io);
    await driver.executor.execute(single.plan, own);
    expect(Buffer.from(own.outputs)).toEqual(Buffer.from(single.io.outputs));
    expect(new Float32Array(own.outputs)[0]).not.toBe(0);
  });

  test.each(['inputs', 'outputs'] as const)('%s resized or transferred during a run', async (which) => {
    for (const take of ['resize', 'transfer']) {
      const { plan, io } = await million(300); // still runs after a turn of the event loop
      const buffer = resizable(1 << 22);
      const running = driver.executor.execute(plan, { ...io, [which]: buffer });
      await setImmediate();
      if (take === 'resize') buffer.resize(0);
      else structuredClone(buffer, { transfer: [buffer] });
      await expect(running).rejects.toMatchObject({
        code: 'BAD_ARGUMENT',
        message: expect.stringContaining(which),
      });
    }
  });

  test('control must lie in memory that JavaScript cannot free', async () => {
    const { plan, io } = await prepare(driver, allOps.linear!, allOps.linear!.samples()[0]!);
    await expect(driver.executor.execute(plan, { ...io, control: new Int32Array(1) })).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
      message: expect.stringContaining('SharedArrayBuffer'),
    });
    const control = new Int32Array(driver.executor.hostMemory!(4, 'inputs'));
    await driver.executor.execute(plan, { ...io, control });
  });
});

test('all of the above at once, with garbage collection, in terminated workers', () => {
  const binary =
    process.env.QUERN_CPU_BINARY ??
    fileURLToPath(new URL('../build/Release/backend_cpu.node', import.meta.url));
  const work = `
    const { NativeBackend } = require(${JSON.stringify(binary)});
    const backend = new NativeBackend({ threads: 2 }, (code, message) => Object.assign(new Error(message), { code }));
    const quiet = (promise) => promise.then(() => {}, () => {});
    const words = ${JSON.stringify(words)};
    const turn = () => {
      const io = [backend.hostMemory(1 << 22), backend.hostMemory(1 << 22), new Int32Array(new SharedArrayBuffer(4)), new Int32Array(new SharedArrayBuffer(8))];
      quiet(backend.execute(Int32Array.from(words), ...io));
      const id = backend.give(1 << 20);
      quiet(backend.loadWeight('w', [512, 512], 'f32', [[id]]));
      backend.takeBack(id);
      const captured = backend.capture(Int32Array.from(words), ...io);
      quiet(
        captured.then((id) => {
          quiet(backend.replay(id));
          if (io[1].transfer) io[1].transfer();
          backend.release(id);
        }),
      );
      gc();
      setImmediate(turn);
    };
    turn();
    require('node:worker_threads').parentPort?.postMessage('started');`;
  const script = `
    const { Worker } = require('node:worker_threads');
    let left = 6;
    const next = () => {
      const worker = new Worker(${JSON.stringify(work)}, { eval: true });
      worker.on('message', () => setTimeout(() => worker.terminate(), 60));
      worker.on('exit', () => (--left > 0 ? next() : console.log('ended')));
    };
    next();`;
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '-e', script], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect({ status, signal, stdout, stderr }).toMatchObject({ status: 0, stdout: 'ended\n' });
}, 70_000);
