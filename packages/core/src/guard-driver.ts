import type { CapturedPlan, Driver, Kernel, KernelDriver, PlanDriver, PlanExecutor } from './driver.js';
import type { DriverMemory } from './driver-memory.js';
import { BackendError, QuernError } from './error.js';
import type { DriverKv } from './kv/kv-buffer.js';

/** Errors of a driver's functions: a QuernError stays, anything else becomes DEVICE_FAILED. */
class Guard {
  constructor(private readonly driver: string) {}

  /** Calls a synchronous function of the driver. */
  now<T>(entry: string, call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw this.failure(entry, error);
    }
  }

  /** Calls a function that returns a promise. */
  later<T>(entry: string, call: () => Promise<T>): Promise<T> {
    return Promise.resolve(this.now(entry, call)).catch((error: unknown) => {
      throw this.failure(entry, error);
    });
  }

  private failure(entry: string, cause: unknown): QuernError {
    if (cause instanceof QuernError) return cause;
    const message = cause instanceof Error ? cause.message : String(cause);
    return new BackendError('DEVICE_FAILED', `[${entry}] the driver '${this.driver}' failed: ${message}`, {
      cause,
    });
  }
}

function guardMemory(guard: Guard, memory: DriverMemory): DriverMemory {
  return {
    allocate: (byteLength) => guard.now('allocate', () => memory.allocate(byteLength)),
    free: (buffer) => guard.now('free', () => memory.free(buffer)),
    write: (buffer, offset, bytes) => guard.later('write', () => memory.write(buffer, offset, bytes)),
    read: (buffer, offset, bytes) => guard.later('read', () => memory.read(buffer, offset, bytes)),
  };
}

function guardKv(guard: Guard, kv: DriverKv): DriverKv {
  return {
    allocate: (spec) => guard.now('allocate', () => kv.allocate(spec)),
    read: (buffer, first, count, bytes) => guard.later('read', () => kv.read(buffer, first, count, bytes)),
    write: (buffer, first, count, bytes) => guard.later('write', () => kv.write(buffer, first, count, bytes)),
  };
}

function guardCaptured(guard: Guard, plan: CapturedPlan): CapturedPlan {
  return {
    replay: (dirty, control) => guard.later('replay', () => plan.replay(dirty, control)),
    ...(plan.replayChain && {
      replayChain: (limits, stops, dirty, control, onReplays) =>
        guard.later('replayChain', () => plan.replayChain!(limits, stops, dirty, control, onReplays)),
    }),
    dispose: () => guard.now('dispose', () => plan.dispose()),
  };
}

function guardExecutor(guard: Guard, executor: PlanExecutor): PlanExecutor {
  return {
    execute: (plan, io) => guard.later('execute', () => executor.execute(plan, io)),
    ...(executor.hostMemory && {
      hostMemory: (byteLength, use) => guard.now('hostMemory', () => executor.hostMemory!(byteLength, use)),
    }),
    ...(executor.freeHostMemory && {
      freeHostMemory: (memory) => guard.now('freeHostMemory', () => executor.freeHostMemory!(memory)),
    }),
    ...(executor.capture && {
      capture: async (plan, io, chain) =>
        guardCaptured(guard, await guard.later('capture', async () => executor.capture!(plan, io, chain))),
    }),
  };
}

function guardKernels(guard: Guard, kernels: KernelDriver['kernels']): KernelDriver['kernels'] {
  const guarded = Object.entries(kernels).map(([op, kernel]: [string, Kernel]) => {
    const call: Kernel = (operands, attributes, outputs) => {
      const computed = guard.now(op, () => kernel(operands, attributes, outputs));
      return computed && guard.later(op, () => computed);
    };
    return [op, call];
  });
  return Object.fromEntries(guarded);
}

/** A driver whose every failure is a QuernError. */
export function guardDriver(driver: Driver): Driver {
  const guard = new Guard(driver.name);
  const { name, contract, profile, manifest, capabilities } = driver;
  const common: Omit<PlanDriver, 'executor'> = {
    name,
    ...(contract !== undefined && { contract }),
    profile,
    manifest,
    ...(capabilities && { capabilities }),
    memory: guardMemory(guard, driver.memory),
    ...(driver.kv && { kv: guardKv(guard, driver.kv) }),
    freeMemory: () => guard.now('freeMemory', () => driver.freeMemory()),
    loadWeight: (source) => guard.later('loadWeight', () => driver.loadWeight(source)),
    freeWeight: (weight) => guard.now('freeWeight', () => driver.freeWeight(weight)),
    dispose: () => guard.now('dispose', () => driver.dispose()),
    ...(driver.measureCeilings && {
      measureCeilings: (options) => guard.later('measureCeilings', () => driver.measureCeilings!(options)),
    }),
    ...(driver.loadGptq && {
      loadGptq: (source) => guard.later('loadGptq', () => driver.loadGptq!(source)),
    }),
    ...(driver.kernelRuns && { kernelRuns: () => guard.now('kernelRuns', () => driver.kernelRuns!()) }),
  };
  return 'kernels' in driver
    ? { ...common, kernels: guardKernels(guard, driver.kernels) }
    : { ...common, executor: guardExecutor(guard, driver.executor) };
}
