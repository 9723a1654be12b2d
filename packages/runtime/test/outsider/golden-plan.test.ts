import { readFileSync } from 'node:fs';
import { defineBackend, type EncodedPlan } from '@quern/core';
import { planDriver } from '../../../../docs/examples/backend/plan-driver.js';

const printed = readFileSync(new URL('../../../../docs/examples/backend/plan.txt', import.meta.url), 'utf8');

/** The words of the example's plan.txt; text after `;` is a comment. */
function printedWords(): number[] {
  const lines = printed.split('\n').map((line) => line.split(';')[0]!);
  return lines.flatMap((line) => line.split(/\s+/).filter(Boolean)).map(Number);
}

/** The plan of argmax(rmsNorm(x, w)): x [1, 4] an input, w [4] a weight. */
async function recordedPlan(): Promise<EncodedPlan> {
  const driver = planDriver();
  const plans: EncodedPlan[] = [];
  const execute: typeof driver.executor.execute = (plan, io) => {
    plans.push(plan);
    return driver.executor.execute(plan, io);
  };
  using backend = defineBackend({ ...driver, executor: { ...driver.executor, execute } });
  const ones = new Uint8Array(Float32Array.of(1, 1, 1, 1).buffer);
  const w = await backend.loadWeight({ name: 'w', shape: [4], format: 'f32', bytes: ones });
  const step = backend.step();
  const x = step.input(Float32Array.of(1, 2, 4, 3), [1, 4]);
  const best = backend.argmax(backend.rmsNorm(x, w, { eps: 0.5 }));
  expect(await step.read(best)).toEqual(Int32Array.of(2));
  return plans[0]!;
}

test('the plan in docs/examples/backend/plan.txt equals core’s encoding', async () => {
  const plan = await recordedPlan();
  expect([...plan.words]).toEqual(printedWords());
});
