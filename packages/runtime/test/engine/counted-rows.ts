import { ForwardSteps } from '../../src/engine/forward-steps.js';
import type { StepRows } from '../../src/engine/step-rows.js';

/** Counts the computed rows of all steps. */
export function countedRows() {
  const counted = { rows: 0, [Symbol.dispose]: () => Object.assign(ForwardSteps.prototype, methods) };
  const { run, mixed, once, prompt } = ForwardSteps.prototype;
  const methods = { run, mixed, once, prompt };
  const count = (batch: readonly StepRows[]) => {
    for (const { tokens, sequence } of batch)
      if (sequence.blockTable.length > 0) counted.rows += tokens.length;
  };
  for (const [name, method] of Object.entries(methods)) {
    const watched = function (this: ForwardSteps, batch: StepRows | readonly StepRows[], ...rest: never[]) {
      if (name !== 'mixed' || (batch as readonly StepRows[]).length > 0) count([batch].flat());
      return (method as (...all: unknown[]) => unknown).call(this, batch, ...rest);
    };
    Object.assign(ForwardSteps.prototype, { [name]: watched });
  }
  return counted;
}
