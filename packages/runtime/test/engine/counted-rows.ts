import { rowsOf } from '../../src/engine/batch.js';
import { Runner } from '../../src/engine/runner/runner.js';

/** Counts the computed rows of all steps, chains apart. */
export function countedRows() {
  const { run } = Runner.prototype;
  const dispose = () => Object.assign(Runner.prototype, { run });
  const counted = { rows: 0, [Symbol.dispose]: dispose };
  const watched: typeof run = function (this: Runner, batch, take, options) {
    if (!options.chain) counted.rows += rowsOf(batch);
    return run.call(this, batch, take as never, options) as never;
  };
  Object.assign(Runner.prototype, { run: watched });
  return counted;
}
