import type { Kernel, KernelDriver, KernelMemory, KernelOperands, KernelWeight, PlanIo } from '../driver.js';
import type { DriverBuffer } from '../driver-memory.js';
import { BackendError } from '../error.js';
import { TimeSlice } from '../event-loop.js';
import { type Layout, placed } from './layout.js';
import type { Plan, PlanOp, PlanOperand } from './plan.js';

interface Call {
  readonly name: string;
  readonly kernel: Kernel;
  readonly operands: KernelOperands;
  readonly attributes: Readonly<Record<string, number>>;
  readonly outputs: readonly KernelMemory[];
}

type Regions = Readonly<Record<'arena' | 'inputs' | 'outputs', DriverBuffer>>;

/** Runs a plan kernel by kernel, for kernel drivers. */
export class KernelRun {
  private readonly regions: Regions;
  private readonly calls: readonly Call[];

  constructor(
    private readonly driver: KernelDriver,
    plan: Plan,
    layout: Layout,
    private readonly io: PlanIo,
    private readonly countRun: (op: string) => void,
  ) {
    this.regions = allocateRegions(driver, layout);
    this.calls = plan.ops.map((op) => this.call(op, layout));
  }

  async run(): Promise<void> {
    const { memory } = this.driver;
    const { control, times } = this.io;
    await memory.write(this.regions.inputs, 0, new Uint8Array(this.io.inputs));
    await memory.write(this.regions.outputs, 0, new Uint8Array(this.io.outputs));
    const slice = new TimeSlice();
    for (const [i, { name, kernel, operands, attributes, outputs }] of this.calls.entries()) {
      if (control[0])
        throw new BackendError('ABORTED', `the run was aborted before op ${i} of ${this.calls.length}`);
      const start = performance.now();
      try {
        await kernel(operands, attributes, outputs);
      } catch (error) {
        this.io.fault[0] = i + 1;
        throw error;
      }
      this.countRun(name);
      if (times) times[i] = performance.now() - start;
      if (slice.over) await slice.yield();
    }
    await memory.read(this.regions.outputs, 0, new Uint8Array(this.io.outputs));
  }

  dispose(): void {
    for (const buffer of Object.values(this.regions)) this.driver.memory.free(buffer);
  }

  private call({ op, operands, attributes, outputs }: PlanOp, layout: Layout): Call {
    const views: Record<string, KernelMemory | KernelWeight> = {};
    Object.keys(op.operands).forEach((name, i) => {
      const operand = operands[i];
      if (operand) views[name] = this.view(operand, layout);
    });
    const named = Object.keys(op.attributes).map((name, i) => [name, attributes[i]!] as const);
    return {
      name: op.name,
      kernel: (this.driver.kernels as Readonly<Record<string, Kernel>>)[op.name]!,
      operands: views,
      attributes: Object.fromEntries(named),
      outputs: outputs.map((output) => this.view(output, layout) as KernelMemory),
    };
  }

  private view(operand: PlanOperand, layout: Layout): KernelMemory | KernelWeight {
    const { shape } = operand;
    if (operand.kind === 'weight')
      return { kind: 'weight', shape, format: operand.format, weight: operand.handle };
    if (operand.kind === 'buffer')
      return { kind: 'memory', shape, dtype: operand.dtype, buffer: operand.handle, byteOffset: 0 };
    const { region, byteOffset, dtype } = placed(operand, layout);
    return { kind: 'memory', shape, dtype, buffer: this.regions[region], byteOffset };
  }
}

/** Allocates all three regions; on an error frees them and throws. */
function allocateRegions(
  { memory }: KernelDriver,
  { arenaBytes, inputsBytes, outputsBytes }: Layout,
): Regions {
  const taken: DriverBuffer[] = [];
  try {
    for (const bytes of [arenaBytes, inputsBytes, outputsBytes]) taken.push(memory.allocate(bytes));
  } catch (error) {
    for (const buffer of taken) memory.free(buffer);
    throw error;
  }
  return { arena: taken[0]!, inputs: taken[1]!, outputs: taken[2]! };
}
