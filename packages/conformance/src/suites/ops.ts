import { type AnyOp, coreOps, recordOp } from '@quern/core';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { bind } from '../ops/bind.js';
import { isComputed } from '../ops/claim.js';
import { coreCase } from '../ops/op-case.js';
import { compare, exact } from '../values/compare.js';
import { numbersOf, received } from '../values/numbers.js';

const ops: readonly AnyOp[] = Object.values(coreOps);

/** Every sample of the op table. */
export const samples: Suite = (lab) =>
  ops.flatMap((op) => op.samples().map((sample) => coreCase(lab, 'ops', op, sample)));

/**
 * The samples with every tensor as a slice of a larger one: operands at any offset, between rows that must not be read.
 */
export const views: Suite = (lab) =>
  ops.flatMap((op) => op.samples().map((sample) => coreCase(lab, 'views', op, sample, 'sliced')));

/** The first sample without operands that joined the op later. */
const firstSample = (op: AnyOp) =>
  op.samples().find(({ operands }) => !Object.keys(operands).some((name) => op.operands[name]!.claimed))!;

/** An op must not change its operands: an op after it still reads the same values. */
function untouched(op: AnyOp): Case {
  const sample = firstSample(op);
  return {
    suite: 'operands',
    name: `${op.name} does not change its operands`,
    async run(lab: Lab) {
      const backend = await lab.guarded(false);
      const step = backend.step();
      const bound = await bind(backend, step, op, sample.operands);
      const inputs = Object.entries(bound.tensors).filter(([, { dtype }]) => dtype === 'f32');
      recordOp(step, op, bound.values, sample.attributes);
      const copies = inputs.map(([name, tensor]) => [name, backend.scale(tensor, 1)] as const);
      for (const [name, copy] of copies)
        compare(
          name,
          numbersOf(await step.read(copy), 'f32', copy.shape),
          received(sample.operands[name]!),
          exact,
        );
      bound.dispose();
    },
  };
}

const hasFloats = (op: AnyOp) =>
  Object.values(op.samples()[0]!.operands).some(({ format }) => format === 'f32');

export const operands: Suite = (lab) =>
  ops.filter((op) => hasFloats(op) && isComputed(lab.support(op.name), op)).map(untouched);
