import type { Driver, PlanDriver } from './driver.js';
import { BackendError } from './error.js';

/** A driver with the same claims and no device: weights and buffers take no memory, plans do not run. */
export function rehearsalDriver(driver: Driver): PlanDriver {
  const { name, profile, manifest, capabilities } = driver;
  const refuse = (entry: string) => async (): Promise<never> => {
    throw new BackendError(
      'UNSUPPORTED',
      `[${entry}] a rehearsal of '${name}' has no device: it only records`,
    );
  };
  let id = 0;
  const load = async () => ({ id: id++, byteLength: 0 });
  const isTable = 'kernels' in driver;
  return {
    name,
    profile,
    manifest,
    capabilities: {
      ...capabilities,
      ...((isTable || capabilities?.graph) && { graph: true }),
      ...((isTable || capabilities?.timer) && { timer: true }),
    },
    memory: {
      allocate: () => ({ id: id++ }),
      free() {},
      write: refuse('write'),
      read: refuse('read'),
    },
    freeMemory: () => driver.freeMemory(),
    loadWeight: load,
    ...(driver.loadGptq && { loadGptq: async () => ({ ...(await load()), format: 'f32' }) }),
    freeWeight() {},
    executor: { execute: refuse('run'), capture: () => ({ replay: refuse('replay'), dispose() {} }) },
    dispose() {},
  };
}
