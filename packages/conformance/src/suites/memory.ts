import {
  type Backend,
  type Driver,
  driverOf,
  type HostMemoryUse,
  type PlanDriver,
  type PlanExecutor,
  type Step,
  type Tensor,
} from '@quern/core';
import type { Case, Suite } from '../case.js';
import { fresh } from '../ops/fresh.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('memory');

/** Records a matrix of 2^48 bytes, more than a process can address, from small inputs. */
function recordHuge(backend: Backend, step: Step): Tensor {
  const rows = (count: number) => step.input(new Int32Array(count));
  const x = step.input(new Float32Array(2 ** 8), [1, 2 ** 8]);
  const wide = backend.view(backend.gatherRows(x, rows(2 ** 14)), [1, 2 ** 22]);
  const wider = backend.view(backend.gatherRows(wide, rows(2 ** 14)), [2 ** 8, 2 ** 28]);
  return backend.gatherRows(wider, rows(2 ** 18));
}

/** Ids in encoded plans are words: whole numbers, unique among the live objects of a kind. */
function needIds(what: string, held: readonly { readonly id: number }[]): void {
  const ids = held.map(({ id }) => id);
  const bad = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < 2 ** 31));
  ensure(bad === undefined, `the id of a ${what} must be a whole number from 0 to 2³¹ − 1; got ${bad}`);
  ensure(new Set(ids).size === ids.length, `live ${what}s must have unique ids; got ${ids.join()}`);
}

/**
 * The driver's own memory for inputs and outputs of plans: core writes the inputs and uses the memory without a copy.
 */
const hostMemory = (
  give: (driver: Driver, byteLength: number, use: HostMemoryUse) => ArrayBuffer,
): readonly Case[] => [
  on('host memory has the requested bytes, all 0, also after earlier use', async (backend) => {
    const driver = driverOf(backend) as PlanDriver;
    for (const use of ['inputs', 'outputs'] as const)
      for (const byteLength of [0, 1, 64, 70_000, 1 << 20])
        for (let round = 0; round < 3; round++) {
          const memory = give(driver, byteLength, use);
          const bytes = new Uint8Array(memory);
          ensure(bytes.length === byteLength, `${byteLength} bytes were requested; got ${bytes.length}`);
          const at = bytes.findIndex((byte) => byte !== 0);
          ensure(at < 0, `byte ${at} of ${byteLength} is ${bytes[at]}`);
          bytes.fill(1);
          if (use === 'inputs') driver.executor.freeHostMemory?.(memory);
        }
  }),
  on('host memory larger than any memory', async (backend, { options }) => {
    await refusal('OUT_OF_MEMORY', () =>
      give(driverOf(backend)!, options.memoryLimitProbe ?? 2 ** 50, 'inputs'),
    );
    await proveUsable(backend);
  }),
];

const hostMemoryOf = (driver: Driver): PlanExecutor['hostMemory'] =>
  'executor' in driver ? driver.executor.hostMemory?.bind(driver.executor) : undefined;

/** Requests that the device cannot hold are refused, and nothing else breaks. */
export const memory: Suite = (lab) => [
  ...(hostMemoryOf(lab.driver) ? hostMemory((driver, ...asked) => hostMemoryOf(driver)!(...asked)) : []),
  on('free memory is a number of bytes', async (backend) => {
    const [free, total] = [backend.freeMemory(), backend.profile.totalMemory];
    ensure(
      free >= 0 && free <= total,
      `freeMemory() must be from 0 to profile.totalMemory (${total}); got ${free}`,
    );
  }),
  on('live buffers and weights have unique ids', async (backend) => {
    const driver = driverOf(backend)!;
    const source = { name: 'w', shape: [1], format: 'f32', bytes: new Uint8Array(4) };
    needIds(
      'buffer',
      [4, 4, 4].map((bytes) => driver.memory.allocate(bytes)),
    );
    needIds('weight', await Promise.all([source, source, source].map((w) => driver.loadWeight(w))));
  }),
  on('a buffer larger than any memory', async (backend) => {
    const bytes = lab.options.memoryLimitProbe ?? 2 ** 50;
    await refusal('OUT_OF_MEMORY', () => driverOf(backend)!.memory.allocate(bytes));
    await proveUsable(backend);
  }),
  on('parts of a buffer', async (backend) => {
    const { memory } = driverOf(backend)!;
    const buffer = memory.allocate(10);
    await memory.write(buffer, 4, Uint8Array.of(1, 2, 3));
    const [all, part] = [new Uint8Array(10), new Uint8Array(4)];
    await memory.read(buffer, 0, all);
    await memory.read(buffer, 5, part);
    ensure(all.join() === '0,0,0,0,1,2,3,0,0,0', `the buffer holds ${all.join()}`);
    ensure(part.join() === '2,3,0,0', `bytes 5 to 9 are ${part.join()}`);
  }),
  on('an empty buffer', async (backend) => {
    const { memory } = driverOf(backend)!;
    memory.free(memory.allocate(0));
  }),
  on('a step whose result is larger than any memory', async (backend) => {
    const step = backend.step();
    recordHuge(backend, step);
    await refusal('OUT_OF_MEMORY', () => step.run());
    await proveUsable(backend);
  }),
  on('a step whose temporaries exceed the memory', async (backend) => {
    const step = backend.step();
    backend.argmax(recordHuge(backend, step));
    await refusal('OUT_OF_MEMORY', () => step.run());
    await proveUsable(backend);
  }),
];
