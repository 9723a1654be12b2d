import {
  type AnyOp,
  type Backend,
  coreOps,
  defineBackend,
  driverOf,
  elements,
  hostMemory,
  type Kernel,
  type KernelDriver,
  type KernelMemory,
  type KernelOperands,
  type KernelWeight,
  type Numbers,
  showShape,
} from '@quern/core';
import { type Closeness, ClosenessLog } from '../closeness.js';
import type { Codec } from '../conformance-options.js';
import { ConformanceError } from '../error.js';
import { checkOutcome, define, type OpCase, type Outcome } from '../ops/expect.js';
import { recordItself, runCase } from '../ops/run-op.js';
import { coarsestFormat } from '../values/compare.js';
import { bitsOf, numbersOf, type Operand } from '../values/numbers.js';
import { floatsOf, type WitnessWeight } from './witness-weight.js';

/** An op of a model with a result outside its tolerance. */
export interface Strayed {
  readonly op: string;
  /** The op's weight, or the weight of an earlier op: it identifies the layer. */
  readonly place: string;
  /** Operands with formats and shapes. */
  readonly operands: string;
  /** The first wrong element, its expected value and the number of wrong elements; or why the op did not run. */
  readonly message: string;
}

/** Result of a model run op by op. */
export interface OpComparison {
  /** Number of compared ops. */
  readonly compared: number;
  /** The first op outside its tolerance. */
  readonly first: Strayed | undefined;
  readonly strayed: number;
  /** Largest error of each op as a share of its tolerance, by format; `case` is the place. */
  readonly closeness: readonly Closeness[];
}

export interface Witness {
  /** Computes by the definitions of the op table, and also runs each op on the backend under test. */
  readonly backend: Backend;
  readonly comparison: OpComparison;
}

const isWeight = (operand: KernelMemory | KernelWeight): operand is KernelWeight => operand.kind === 'weight';

/** An operand in the form for the definition and the backend under test. */
function operandOf(operand: KernelMemory | KernelWeight): Operand {
  const { shape } = operand;
  if (isWeight(operand)) {
    const { values, tested } = operand.weight as WitnessWeight;
    return { shape, format: operand.format, values, numbers: { shape, data: values }, loaded: tested };
  }
  const { data } = numbersOf(elements(operand), operand.dtype, shape);
  return { shape, format: operand.dtype, values: data };
}

const describe = (operands: Readonly<Record<string, Operand>>): string =>
  Object.entries(operands)
    .map(([name, { format, shape }]) => `${name} ${format}${showShape(shape)}`)
    .join(', ');

/** Writes numbers into a kernel's output or cache. */
function store({ data }: Numbers, target: KernelMemory): void {
  const to = elements(target);
  const { dtype } = target;
  if (dtype === 'f16' || dtype === 'bf16') to.set(bitsOf(data, dtype));
  else to.set(data);
}

class Comparing {
  private readonly log = new ClosenessLog();
  private compared = 0;
  private strayed = 0;
  private first: Strayed | undefined;
  private lastWeight = 'the beginning';

  constructor(private readonly tested: Backend) {}

  get comparison(): OpComparison {
    const { compared, strayed, first } = this;
    return { compared, strayed, first, closeness: this.log.all };
  }

  /** A kernel that computes the op's definition and compares. */
  kernel(op: AnyOp): Kernel {
    return async (given, attributes, outputs) => {
      const named = Object.entries(given).map(([name, operand]) => [name, operandOf(operand)] as const);
      const sample: OpCase = { name: this.placeOf(given), operands: Object.fromEntries(named), attributes };
      const want = define(op, sample);
      await this.compare(op, sample, want);
      outputs.forEach((output, i) => store(want.outputs[i]!, output));
      for (const [name, numbers] of Object.entries(want.buffers))
        if (op.operands[name]!.written) store(numbers, given[name] as KernelMemory);
    };
  }

  private placeOf(given: KernelOperands): string {
    const weight = Object.values(given).find(isWeight);
    if (!weight) return `after ${this.lastWeight}`;
    this.lastWeight = (weight.weight as WitnessWeight).name;
    return this.lastWeight;
  }

  private async compare(op: AnyOp, sample: OpCase, want: Outcome): Promise<void> {
    this.compared++;
    const seen = { op: op.name, format: coarsestFormat(sample.operands), case: sample.name };
    try {
      const got = await runCase(this.tested, op, sample, recordItself(op));
      checkOutcome(op, sample, got, want, (share) => this.log.note({ ...seen, share }));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.strayed++;
      this.first ??= { op: op.name, place: sample.name, operands: describe(sample.operands), message };
    }
  }
}

function witnessDriver(tested: Backend, codecs: readonly Codec[], comparing: Comparing): KernelDriver {
  const own = driverOf(tested);
  if (!own)
    throw new ConformanceError(
      'BAD_MODULE',
      `backend '${tested.name}' was made by another copy of @quern/core: it must not bundle core, nor bring a copy of its own`,
    );
  const { pagedKv, quantGguf, kvQuant } = own.capabilities ?? {};
  let id = 0;
  const kernels = Object.entries<AnyOp>(coreOps).map(([name, op]) => [name, comparing.kernel(op)]);
  return {
    name: tested.name, // messages then name the backend that the user named
    profile: { ...tested.profile, kind: 'interpreter' },
    freeMemory: tested.freeMemory,
    manifest: { ops: own.manifest.ops },
    capabilities: {
      ...(pagedKv && { pagedKv }),
      ...(quantGguf && { quantGguf }),
      ...(kvQuant && { kvQuant }),
    },
    memory: hostMemory(),
    kernels: Object.fromEntries(kernels) as KernelDriver['kernels'],
    async loadWeight(source): Promise<WitnessWeight> {
      const values = await floatsOf(source, codecs);
      const loaded = await tested.loadWeight(source);
      return { id: id++, byteLength: values.byteLength, name: source.name, values, tested: loaded };
    },
    freeWeight: (weight) => (weight as WitnessWeight).tested.dispose(),
    dispose() {},
  };
}

/**
 * A backend that computes by the definitions of the op table, for a model to run on. Each op also runs on `tested` with
 * the same operands, and its result is checked against the op's tolerance. The caller disposes `tested`. Throws
 * ConformanceError BAD_MODULE if `tested` comes from another copy of core.
 */
export function witnessBackend(tested: Backend, codecs: readonly Codec[] = []): Witness {
  const comparing = new Comparing(tested);
  const backend = defineBackend(witnessDriver(tested, codecs, comparing));
  return {
    backend,
    get comparison() {
      return comparing.comparison;
    },
  };
}
