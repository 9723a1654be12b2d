import { type AnyOp, type Backend, coreOps, type ErrorSample, fusedOps, recordOp } from '@quern/core';
import { normal } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import { bind, loadOperand } from '../ops/bind.js';
import { isComputed } from '../ops/claim.js';
import { fresh } from '../ops/fresh.js';
import { ensure, refusal } from '../values/refusal.js';

async function refuse(backend: Backend, op: AnyOp, sample: ErrorSample): Promise<void> {
  const step = backend.step();
  const bound = await bind(backend, step, op, sample.operands);
  const record = () => recordOp(step, op, bound.values, sample.attributes);
  if (sample.when === 'record') await refusal(sample.code, record);
  else {
    record();
    await refusal(sample.code, () => step.run());
  }
  step.dispose();
  bound.dispose();
}

/** Throws unless a small step gives the right sum. */
export async function proveUsable(backend: Backend): Promise<void> {
  const step = backend.step();
  const sum = backend.add(step.input(Float32Array.of(1, 2, 3)), step.input(Float32Array.of(10, 20, 30)));
  const got = Array.from(await step.read(sum));
  ensure(got.join() === '11,22,33', `a later step should still work; 1+10, 2+20, 3+30 gave ${got.join()}`);
}

/** A row outside the second of two tables: the error names the table. */
const named = fresh('errors')('an op that goes wrong is named by its weight', async (backend) => {
  const [first, second] = await Promise.all(
    ['first', 'second'].map((name) => loadOperand(backend, name, normal(1, [4, 8]))),
  );
  const step = backend.step();
  const x = backend.embed(first!, step.input(Int32Array.of(3)));
  const y = backend.embed(second!, step.input(Int32Array.of(4)));
  backend.add(x, y);
  const error = await refusal('OUT_OF_RANGE', () => step.run());
  ensure(
    error.message.includes("'embed second'"),
    `the message should name the op, 'embed second' (PlanIo.fault); got: ${error.message}`,
  );
  await refusal('OUT_OF_RANGE', () => step.read(y));
});

const fused: readonly AnyOp[] = Object.values(fusedOps);

/** Every error sample of the op table: the right code, and the backend works afterwards. */
export const errors: Suite = (lab) => [
  named,
  ...[
    ...Object.values<AnyOp>(coreOps).filter((op) => isComputed(lab.support(op.name), op)),
    ...fused.filter(({ name }) => lab.support(name)),
  ].flatMap((op) =>
    op.errors().map(
      (sample): Case => ({
        suite: 'errors',
        name: `${op.name}: ${sample.name}`,
        async run(lab) {
          const backend = await lab.guarded(false);
          await refuse(backend, op, sample);
          await proveUsable(backend);
        },
      }),
    ),
  ),
];
