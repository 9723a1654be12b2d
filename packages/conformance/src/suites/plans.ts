import { type Backend, type DType, recordOp, type Tensor, type Weight } from '@quern/core';
import type { Case, Suite } from '../case.js';
import { loadOperand } from '../ops/bind.js';
import { type Instruction, type Program, writeProgram } from '../plans/program.js';
import { compare } from '../values/compare.js';
import { hostValues, numbersOf } from '../values/numbers.js';

const suite = 'plans';

/** A value after dozens of ops: the bound is far above accumulated rounding, far below the effect of wrong memory. */
const allowed = (_: number, want: number) => 1e-3 * (1 + Math.abs(want));

type Weights = ReadonlyMap<Instruction, Readonly<Record<string, Weight>>>;

async function loadWeights(backend: Backend, { instructions }: Program): Promise<Weights> {
  const loaded = new Map<Instruction, Record<string, Weight>>();
  for (const instruction of instructions) {
    if (instruction.kind !== 'op') continue;
    const weights: Record<string, Weight> = {};
    for (const [name, operand] of Object.entries(instruction.weights))
      weights[name] = await loadOperand(backend, name, operand);
    loaded.set(instruction, weights);
  }
  return loaded;
}

function record(backend: Backend, { instructions }: Program, weights: Weights) {
  const step = backend.step();
  const tensors: Tensor[] = [];
  for (const made of instructions) {
    if (made.kind === 'input')
      tensors.push(step.input(hostValues(made.operand), made.operand.shape, made.operand.format as DType));
    else if (made.kind === 'slice') tensors.push(backend.slice(tensors[made.of]!, made.from, made.to));
    else if (made.kind === 'view') tensors.push(backend.view(tensors[made.of]!, made.shape));
    else {
      const values = Object.entries(made.values).map(([name, at]) => [name, tensors[at]!] as const);
      const operands = { ...Object.fromEntries(values), ...weights.get(made) };
      tensors.push(recordOp(step, made.op, operands, made.attributes)[0]!);
    }
  }
  return { step, tensors };
}

/** Runs a program with the values at `kept` kept, and compares these values. */
async function prove(backend: Backend, program: Program, kept: readonly number[]): Promise<void> {
  const weights = await loadWeights(backend, program);
  const { step, tensors } = record(backend, program, weights);
  for (const i of kept) step.keep(tensors[i]!);
  await step.run();
  for (const i of kept) {
    const { dtype, shape } = tensors[i]!;
    compare(`value ${i}`, numbersOf(await step.read(tensors[i]!), dtype, shape), program.values[i]!, allowed);
  }
  for (const named of weights.values()) for (const weight of Object.values(named)) weight.dispose();
}

const modes = {
  'every value kept': { fuse: false, kept: (count: number) => Array.from({ length: count }, (_, i) => i) },
  'the last value kept': { fuse: false, kept: (count: number) => [count - 1] },
  'the last value kept, fused': { fuse: true, kept: (count: number) => [count - 1] },
} as const;

const random = (seed: number, mode: keyof typeof modes): Case => ({
  suite,
  name: `random plan ${seed}, ${mode}`,
  async run(lab) {
    const program = writeProgram(seed, 60);
    const { fuse, kept } = modes[mode];
    await prove(await lab.guarded(fuse), program, kept(program.values.length));
  },
});

const empty: Case = {
  suite,
  name: 'a plan without ops',
  async run(lab) {
    await (await lab.guarded(false)).step().run();
  },
};

/** Plans of many ops with much reuse of memory, against their definitions in sequence. */
export const plans: Suite = (lab) => [
  empty,
  ...[1, 2, 3, 4, 5, 6].flatMap((n) =>
    (Object.keys(modes) as (keyof typeof modes)[]).map((mode) => random(6 * lab.seed + n, mode)),
  ),
];
