import { type AnyOp, coreOps, driverOf, elementCount, fusedOps, type PlanDriver } from '@quern/core';
import type { Case } from '../case.js';
import type { Lab } from '../lab.js';
import { beyondClaim } from '../ops/claim.js';
import type { OpCase } from '../ops/expect.js';
import { fresh } from '../ops/fresh.js';
import { type OpPlan, opPlan } from '../plans/op-plan.js';
import { isRefusal, outcome } from '../plans/outcome.js';
import { withWords } from '../plans/records.js';
import { ensure } from '../values/refusal.js';

/** Fill byte of the outputs' memory, inside and outside the outputs. */
const canary = 0xa5;
/** Index of an operand's rank word; the dimensions follow. */
const rankWord = 5;
const samplesOfOp = 3;

/** Other shapes with the same number of elements. */
function otherShapes(shape: readonly number[]): readonly (readonly number[])[] {
  const count = elementCount(shape);
  const [first = 1, ...others] = shape;
  const shapes = [[count], [1, count], [count, 1], [1, 1, count], shape.toReversed(), [...others, first]];
  const byName = new Map(shapes.map((other) => [other.join(), other]));
  byName.delete(shape.join());
  return [...byName.values()];
}

function needUntouched({ io, outputs }: OpPlan, inputs: Uint8Array, how: string): void {
  const after = new Uint8Array(io.outputs);
  const stray = after.findIndex(
    (byte, i) => byte !== canary && !outputs.some(([from, to]) => i >= from && i < to),
  );
  ensure(stray < 0, `${how}: byte ${stray} of the outputs lies in no output, and was written to`);
  ensure(Buffer.compare(inputs, new Uint8Array(io.inputs)) === 0, `${how}: the inputs were written to`);
}

/** Runs a plan that must be refused, or must stay within its operands' elements. */
async function needContained(
  driver: PlanDriver,
  prepared: OpPlan,
  words: Int32Array,
  how: string,
): Promise<void> {
  const { plan, io } = prepared;
  const inputs = new Uint8Array(io.inputs).slice();
  new Uint8Array(io.outputs).fill(canary);
  const code = await outcome(driver, withWords(plan, words), io, false);
  ensure(
    code === undefined || isRefusal(code),
    `${how}: must be refused with a BackendError, or run; got ${code}`,
  );
  needUntouched(prepared, inputs, how);
}

async function reshapeEach(driver: PlanDriver, op: AnyOp, given: OpCase): Promise<void> {
  const prepared = await opPlan(driver, op, given);
  const { plan, io, places } = prepared;
  const needRuns = async (when: string) => {
    const code = await outcome(driver, plan, io, false);
    ensure(code === undefined, `the right plan should run ${when}; got ${code}`);
  };
  await needRuns('at first');
  for (const { name, at, shape } of places)
    for (const other of otherShapes(shape)) {
      const words = plan.words.slice();
      words.set([other.length, ...other], at + rankWord);
      await needContained(driver, prepared, words, `${name} [${shape}] as [${other}]`);
    }
  await needRuns('after those that are wrong');
}

/**
 * Each op with one operand or output in another shape of the same number of elements. Checks of sizes alone accept it;
 * a kernel that takes a row length from one operand and uses it on another then leaves its memory.
 */
export function reshapedOperands(lab: Lab, suite: string): readonly Case[] {
  const on = fresh(suite);
  const ops: readonly AnyOp[] = [...Object.values(coreOps), ...Object.values(fusedOps)];
  return ops.flatMap((op) => {
    const claimed = op
      .samples()
      .filter(({ operands }) => !beyondClaim(op, lab.support(op.name), operands))
      .slice(0, samplesOfOp);
    if (claimed.length === 0) return [];
    return on(`${op.name}: as many elements in other shapes`, async (backend) => {
      const driver = driverOf(backend) as PlanDriver;
      for (const given of claimed) await reshapeEach(driver, op, given);
    });
  });
}
