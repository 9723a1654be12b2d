import {
  type AnyOp,
  type Backend,
  elementCount,
  hostArray,
  type KvBuffer,
  type Numbers,
  recordOp,
  type Step,
  type Tensor,
} from '@quern/core';
import { numbersOf } from '../values/numbers.js';
import { type Binding, type Bound, bind } from './bind.js';
import { checkOutcome, define, type NoteShare, type OpCase, type Outcome } from './expect.js';

/** Records a case and returns the tensors of the op's outputs. */
export type RecordCase = (step: Step, bound: Bound, sample: OpCase) => readonly Tensor[];

async function readBuffer(buffer: KvBuffer): Promise<Numbers> {
  const bytes = await buffer.readBlocks(0, buffer.shape[0]);
  const values = hostArray(buffer.dtype, bytes.buffer, bytes.byteOffset, elementCount(buffer.shape));
  return numbersOf(values, buffer.dtype, buffer.shape);
}

/** Runs one case in its own step. */
export async function runCase(
  backend: Backend,
  op: AnyOp,
  sample: OpCase,
  record: RecordCase,
  binding: Binding = 'whole',
): Promise<Outcome> {
  const step = backend.step();
  const bound = await bind(backend, step, op, sample.operands, binding);
  try {
    const tensors = record(step, bound, sample);
    for (const tensor of tensors) step.keep(tensor);
    await step.run();
    const outputs: Numbers[] = [];
    for (const tensor of tensors)
      outputs.push(numbersOf(await step.read(tensor), tensor.dtype, tensor.shape));
    const buffers: Record<string, Numbers> = {};
    for (const [name, buffer] of Object.entries(bound.buffers)) buffers[name] = await readBuffer(buffer);
    return { outputs, buffers };
  } finally {
    step.dispose();
    bound.dispose();
  }
}

/** Runs a case, checks it against the definition, and checks that the kernel of `op` was counted. */
export async function proveCase(
  backend: Backend,
  op: AnyOp,
  sample: OpCase,
  record: RecordCase,
  binding: Binding = 'whole',
  note?: NoteShare,
): Promise<Outcome> {
  const before = backend.kernelRuns()[op.name] ?? 0;
  const got = await runCase(backend, op, sample, record, binding);
  const runs = (backend.kernelRuns()[op.name] ?? 0) - before;
  if (!(op.name in backend.filled) && !(runs > 0))
    throw new Error(`the manifest claims '${op.name}', but its kernel did not run`);
  checkOutcome(op, sample, got, define(op, sample), note);
  return got;
}

/** The op itself, as one record. */
export const recordItself =
  (op: AnyOp): RecordCase =>
  (step, bound, { attributes }) =>
    recordOp(step, op, bound.values, attributes);
