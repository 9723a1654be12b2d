// Every error of a driver reaches its callers as a QuernError.
import { guardDriver } from '../src/guard-driver.js';
import {
  type Backend,
  BackendError,
  type CapturedPlan,
  contractVersion,
  type Driver,
  defineBackend,
  need,
  needContract,
  type PlanDriver,
  type PlanExecutor,
} from '../src/index.js';
import { encodePlan } from '../src/plan/encode.js';
import { layOut } from '../src/plan/layout.js';
import { definitionDriver, type Ledger } from './definition-driver.js';

const ledger = (): Ledger => ({ buffers: 0, weights: 0, disposals: 0 });
const cause = new RangeError('the cable is out');
const fail = (): never => {
  throw cause;
};
const reject = (): Promise<never> => Promise.reject(cause);

const failed = (entry: string) =>
  expect.objectContaining({
    name: 'BackendError',
    code: 'DEVICE_FAILED',
    message: expect.stringContaining(`[${entry}] the driver`),
    cause,
  });

/** A backend with one faulty part of its driver. */
function spoilt(change: (driver: Driver) => Partial<Driver>): Backend {
  const driver = definitionDriver(ledger());
  return defineBackend({ ...driver, ...change(driver) } as Driver);
}

const source = { name: 'w', shape: [1, 1], format: 'f32', bytes: new Uint8Array(4) } as const;
const oneToken = { blocks: 1, blockSize: 1, heads: 1, headDim: 2, dtype: 'f32' } as const;
const memory = (parts: Partial<Driver['memory']>) => (driver: Driver) => ({
  memory: { ...driver.memory, ...parts },
});

test.each([
  ['a function that throws', fail],
  ['a promise that rejects', reject],
])('%s, in every asynchronous entry', async (_name, bad) => {
  await expect(spoilt(() => ({ loadWeight: bad })).loadWeight(source)).rejects.toEqual(failed('loadWeight'));
  const measure = spoilt(() => ({ measureCeilings: bad }));
  await expect(measure.measureCeilings!()).rejects.toEqual(failed('measureCeilings'));
  for (const entry of ['read', 'write'] as const) {
    const buffer = spoilt(memory({ [entry]: bad })).kvBuffer(oneToken);
    const access = entry === 'read' ? buffer.readBlocks(0) : buffer.writeBlocks(0, new Uint8Array(8));
    await expect(access).rejects.toEqual(failed(entry));
  }
});

test('synchronous entries', () => {
  const backend = spoilt((driver) => ({ ...memory({ allocate: fail })(driver), freeMemory: fail }));
  expect(() => backend.kvBuffer(oneToken)).toThrow(failed('allocate'));
  expect(() => backend.freeMemory()).toThrow(failed('freeMemory'));
});

test.each([
  ['throws', fail],
  ['rejects', reject],
])('a kernel that %s is named', async (_name, kernel) => {
  const driver = definitionDriver(ledger());
  const backend = defineBackend({ ...driver, kernels: { ...driver.kernels, silu: kernel } });
  const step = backend.step();
  backend.silu(step.input(Float32Array.of(1)));
  await expect(step.run()).rejects.toEqual(failed('silu'));
});

/** A plan driver that fails in one entry. */
function planBackend(executor: PlanDriver['executor']): Backend {
  const { kernels: _kernels, ...driver } = definitionDriver(ledger());
  return defineBackend({ ...driver, capabilities: { graph: true }, executor });
}

test('execute, capture, replay and replayChain', async () => {
  const captured = { replay: reject, replayChain: reject, dispose() {} };
  const backend = planBackend({ execute: reject, capture: () => captured });
  need(backend, 'graph');
  const record = () => {
    const step = backend.step();
    const x = step.input(Int32Array.of(1), [1, 1]);
    const y = backend.argmax(step.input(Float32Array.of(1, 2), [1, 2]));
    step.keep(y);
    return { step, x, y };
  };
  await expect(record().step.run()).rejects.toEqual(failed('execute'));
  const { step, x, y } = record();
  const graph = await backend.graph.capture(step, {
    chain: { output: y, feed: x, advance: [], most: 2 },
  });
  const limits = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  await expect(graph.replay()).rejects.toEqual(failed('replay'));
  await expect(graph.replayChain({ limits })).rejects.toEqual(failed('replayChain'));
  for (const capture of [fail, reject]) await refusesCapture(capture);
});

async function refusesCapture(capture: () => never | Promise<never>): Promise<void> {
  const refusing = planBackend({ execute: reject, capture });
  need(refusing, 'graph');
  const other = refusing.step();
  refusing.silu(other.input(Float32Array.of(1)));
  await expect(refusing.graph.capture(other)).rejects.toEqual(failed('capture'));
}

test('hostMemory: plans use it if the driver has it', async () => {
  const own: ArrayBuffer[] = [];
  const hostMemory = (byteLength: number) => own[own.push(new ArrayBuffer(byteLength)) - 1]!;
  const used: ArrayBuffer[] = [];
  const execute: PlanExecutor['execute'] = async (_plan, { inputs, outputs }) =>
    void used.push(inputs, outputs);
  const capture = fail;
  const step = planBackend({ execute, hostMemory, capture }).step();
  step.input(Float32Array.of(1));
  await step.run();
  expect(used).toHaveLength(2);
  used.forEach((memory, i) => expect(memory).toBe(own[i]));
  const refusing = planBackend({ execute, hostMemory: fail, capture }).step();
  await expect(refusing.run()).rejects.toEqual(failed('hostMemory'));
});

test('the guard passes on every function of a driver', async () => {
  const captured: Required<CapturedPlan> = { replay: reject, replayChain: reject, dispose() {} };
  const executor: Required<PlanExecutor> = {
    ...{ execute: reject, hostMemory: fail, freeHostMemory: fail, capture: () => captured },
  };
  const { kernels: _kernels, ...base } = definitionDriver(ledger());
  const kv = { allocate: fail, read: reject, write: reject };
  const plan = encodePlan([], layOut({ ops: [], storages: [] }));
  const [inputs, outputs] = [new ArrayBuffer(0), new ArrayBuffer(0)];
  const io = { inputs, outputs, control: new Int32Array(1), fault: new Int32Array(2) };
  const driver: Required<PlanDriver> = {
    ...{ capabilities: {}, measureCeilings: reject, loadGptq: reject },
    ...{ contract: contractVersion, kernelRuns: () => ({}), kv, ...base, executor },
  };
  const guarded = guardDriver(driver) as Required<PlanDriver>;
  const names = (object: object) => Object.keys(object).sort();
  expect(names(guarded)).toEqual(names(driver));
  expect(names(guarded.memory)).toEqual(names(driver.memory));
  expect(names(guarded.kv)).toEqual(names(kv));
  expect(names(guarded.executor)).toEqual(names(executor));
  const { capture } = guarded.executor as Required<PlanExecutor>;
  expect(names(await capture(plan, io))).toEqual(names(captured));
});

test('a QuernError stays as it is', async () => {
  const error = new BackendError('OUT_OF_MEMORY', 'full');
  const backend = spoilt(() => ({ loadWeight: () => Promise.reject(error) }));
  await expect(backend.loadWeight(source)).rejects.toBe(error);
});

test('a driver may be an instance of a class', async () => {
  const own = definitionDriver(ledger());
  class Device {
    readonly bytes = 7;
    freeMemory() {
      return this.bytes;
    }
  }
  const driver: Driver = Object.assign(new Device(), { ...own, freeMemory: Device.prototype.freeMemory });
  expect(defineBackend(driver).freeMemory()).toBe(7);
});

describe('the contract', () => {
  const backend = spoilt(() => ({}));

  test('is stamped on every backend, and fits this copy', () => {
    expect(backend.contract).toBe(contractVersion);
    expect(() => needContract(backend)).not.toThrow();
  });

  test.each([
    [
      contractVersion - 1,
      /'definitions' of quern-backend-x was made for contract .* update quern-backend-x$/,
    ],
    [undefined, /has no contract version, .* update quern-backend-x$/],
    [
      contractVersion + 1,
      /is newer than contract .* update @quern\/core, @quern\/models and @quern\/runtime$/,
    ],
  ])('%p is refused, and the package to update is named', (contract, message) => {
    const other = { ...backend, contract } as Backend;
    expect(() => needContract(other, 'quern-backend-x')).toThrow(
      expect.objectContaining({ code: 'WRONG_CONTRACT', message: expect.stringMatching(message) }),
    );
  });
});

describe('the contract that a driver was written for', () => {
  const stating = (contract: number | undefined) =>
    spoilt((driver) => ({ ...driver, ...(contract !== undefined && { contract }) }));

  test('is this one, or not stated', () => {
    for (const contract of [contractVersion, undefined])
      expect(stating(contract).contract).toBe(contractVersion);
  });

  test.each([
    [
      contractVersion - 1,
      'WRONG_CONTRACT',
      /^driver 'definitions' was made for contract .* update its package$/,
    ],
    [
      contractVersion + 1,
      'WRONG_CONTRACT',
      /is newer than contract .* update @quern\/core, @quern\/models and/,
    ],
    [0.5, 'BAD_DRIVER', /contract must be a whole number above 0, .*; got 0\.5$/],
  ])('%p is refused before anything else of the driver is looked at', (contract, code, message) => {
    expect(() => stating(contract)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  test('Quern’s own drivers state this one', async () => {
    const { referenceDriver } = await import('@quern/backend-reference');
    expect(referenceDriver().contract).toBe(contractVersion);
  });
});

test('a backend disposed while weights load: every load rejects, and the driver is disposed once, after them', async () => {
  const events: string[] = [];
  const ends: (() => void)[] = [];
  const backend = spoilt((driver) => ({
    async loadWeight(given) {
      await new Promise<void>((resolve) => ends.push(resolve));
      events.push('loaded');
      return driver.loadWeight(given);
    },
    dispose: () => void events.push('disposed'),
  }));
  const loads = [0, 1, 2].map(() => backend.loadWeight(source));
  backend.dispose();
  backend.dispose();
  for (const end of ends) end();
  for (const outcome of await Promise.allSettled(loads))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'DISPOSED' } });
  expect(events).toEqual(['loaded', 'loaded', 'loaded', 'disposed']);
});
