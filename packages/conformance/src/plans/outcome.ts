import type { EncodedPlan, PlanDriver, PlanIo } from '@quern/core';
import { codeOf, ensure } from '../values/refusal.js';

const canceled = ['ABORTED', 'DISPOSED'];
const uncoded = 'no code';

/** Runs a plan, captured first if the driver captures plans. Returns the error's code, or undefined on success. */
export async function outcome(
  { executor }: PlanDriver,
  plan: EncodedPlan,
  io: PlanIo,
  kept: boolean,
): Promise<unknown> {
  try {
    if (!kept) await executor.execute(plan, io);
    else {
      const captured = await executor.capture!(plan, io);
      const all = { from: 0, to: io.inputs.byteLength };
      await captured.replay([all], io.control).finally(() => captured.dispose());
    }
    return undefined;
  } catch (error) {
    return codeOf(error) ?? `${uncoded}: ${error}`;
  }
}

/** Whether the outcome of a plan is an error with a known code. */
export const isRefusal = (code: unknown): boolean =>
  typeof code === 'string' && !code.startsWith(uncoded) && !canceled.includes(code);

export function needRefused(code: unknown, how: string): void {
  ensure(
    isRefusal(code),
    `${how}: must be refused with a BackendError; ${code === undefined ? 'it ran' : `got ${code}`}`,
  );
}
