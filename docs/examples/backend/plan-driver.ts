import {
  BackendError,
  type CapturedPlan,
  type DriverBuffer,
  type EncodedPlan,
  type HostBuffer,
  type Kernel,
  type KernelMemory,
  type KernelWeight,
  type PlanDriver,
  type PlanIo,
  regions,
} from '@quern/core';
import { checkOp, type Places } from './check-plan.js';
import { plainDriver } from './driver.js';
import { type EncodedOperand, malformed, readPlan, regionBytes } from './read-plan.js';
import { loadWeight, type PlainWeight } from './weight.js';

/** The driver's buffers and weights by id; plans name these ids. */
interface Held {
  readonly buffers: Map<number, HostBuffer>;
  readonly weights: Map<number, { readonly weight: PlainWeight; readonly shape: readonly number[] }>;
}

/** One op with its operands bound to memory. */
interface Call {
  readonly name: string;
  run(): void | Promise<void>;
}

const hostBuffer = (bytes: ArrayBuffer): HostBuffer => ({ id: -1, bytes });

/** The driver computes in host memory: inputs and outputs are used in place. */
function regionsOf(
  plan: EncodedPlan,
  io: PlanIo,
  allocate: (bytes: number) => DriverBuffer,
): Places['regions'] {
  const [arenaBytes, inputsBytes, outputsBytes] = regionBytes(plan);
  if (inputsBytes !== io.inputs.byteLength || outputsBytes !== io.outputs.byteLength)
    throw malformed(`it asks for ${inputsBytes} and ${outputsBytes} bytes of inputs and outputs`);
  return {
    [regions.arena]: allocate(arenaBytes) as HostBuffer,
    [regions.inputs]: hostBuffer(io.inputs),
    [regions.outputs]: hostBuffer(io.outputs),
  };
}

function bind(operand: EncodedOperand, places: Places): KernelMemory | KernelWeight {
  const { region, id, shape, byteOffset, dtype } = operand;
  if (region === regions.weight)
    return { kind: 'weight', shape, format: 'f32', weight: places.weights.get(id)!.weight };
  const buffer = region === regions.buffer ? places.buffers.get(id)! : places.regions[region]!;
  return { kind: 'memory', shape, dtype: dtype!, buffer, byteOffset };
}

/** Checks and binds a plan's ops before the run. A captured plan does this once. */
function bindPlan(plan: EncodedPlan, kernels: Readonly<Record<string, Kernel>>, places: Places): Call[] {
  return readPlan(plan).map((encoded) => {
    checkOp(encoded, places);
    const { op, attributes, operands } = encoded;
    const names = Object.keys(op.operands);
    const present = names.flatMap((name, i) => {
      const operand = operands[i]!;
      return operand.region === regions.none ? [] : [[name, bind(operand, places)] as const];
    });
    const named = Object.fromEntries(present);
    const outputs = operands.slice(names.length).map((operand) => bind(operand, places) as KernelMemory);
    return { name: op.name, run: () => kernels[op.name]!(named, attributes, outputs) };
  });
}

async function run(calls: readonly Call[], io: PlanIo, runs: Record<string, number>) {
  const { control, times, fault } = io;
  for (const [i, { name, run: compute }] of calls.entries()) {
    if (control[0]) throw new BackendError('ABORTED', `aborted before op ${i} of ${calls.length}`);
    const start = performance.now();
    try {
      await compute();
    } catch (error) {
      fault[0] = i + 1; // core names the op
      throw error;
    }
    runs[name] = (runs[name] ?? 0) + 1;
    if (times) times[i] = performance.now() - start;
    await new Promise((resolve) => setImmediate(resolve)); // for the event loop; a native driver has its own threads
  }
}

/** The same kernels in a driver for whole plans, the form of a native driver. */
export function planDriver(): PlanDriver {
  const { kernels, memory, capabilities, ...rest } = plainDriver();
  const held: Held = { buffers: new Map(), weights: new Map() };
  const runs: Record<string, number> = {};
  const bound = (plan: EncodedPlan, io: PlanIo) =>
    bindPlan(plan, kernels, { ...held, regions: regionsOf(plan, io, memory.allocate) });
  return {
    ...rest,
    name: 'plain-plan',
    capabilities: { ...capabilities, graph: true, timer: true },
    memory: {
      ...memory,
      allocate(byteLength) {
        const buffer = memory.allocate(byteLength);
        held.buffers.set(buffer.id, buffer as HostBuffer);
        return buffer;
      },
      free: ({ id }) => void held.buffers.delete(id),
    },
    async loadWeight(source) {
      const weight = await loadWeight(source);
      held.weights.set(weight.id, { weight, shape: source.shape });
      return weight;
    },
    freeWeight: ({ id }) => void held.weights.delete(id),
    executor: {
      execute: async (plan, io) => run(bound(plan, io), io, runs),
      capture(plan, io): CapturedPlan {
        const calls = bound(plan, io);
        return { replay: () => run(calls, io, runs), dispose() {} };
      },
    },
    kernelRuns: () => runs,
    dispose() {
      held.buffers.clear();
      held.weights.clear();
    },
  };
}
