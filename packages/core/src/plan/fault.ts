import { faultCodes, type PlanIo } from '../driver.js';
import { BackendError, type BackendErrorCode } from '../error.js';
import { opName } from './op-name.js';
import type { PlanOp } from './plan.js';

const codes: ReadonlyMap<number, BackendErrorCode> = new Map(
  Object.entries(faultCodes).map(([code, number]) => [number, code as keyof typeof faultCodes]),
);

const reasons: Readonly<Record<keyof typeof faultCodes, string>> = {
  OUT_OF_RANGE: 'an index lies outside its range',
  DEVICE_FAILED: 'the device reported a failure',
};

const placeOf = (ops: readonly PlanOp[], index: number): string =>
  `op ${index + 1} of ${ops.length}, '${opName(ops, index)}'`;

/** The error flagged by a driver, if any. Clears the flag. */
export function takeFault(fault: PlanIo['fault'], ops: readonly PlanOp[]): BackendError | undefined {
  if (fault[0] === 0) return undefined;
  const [index, number] = [fault[0]! - 1, fault[1]!];
  fault.fill(0);
  const code = codes.get(number);
  if (!code || !ops[index])
    return new BackendError(
      'BAD_DRIVER',
      `the driver flagged op ${index + 1} of ${ops.length} with code ${number}; codes are ${[...codes.keys()].join(', ')}`,
    );
  return new BackendError(
    code,
    `[${ops[index].op.name}] ${reasons[code as keyof typeof faultCodes]} (${placeOf(ops, index)})`,
  );
}

/** A driver's rejection, with the op's name if the driver flagged the op. Clears the flag. */
export function withOpName(error: unknown, fault: PlanIo['fault'], ops: readonly PlanOp[]): unknown {
  const index = fault[0]! - 1;
  fault.fill(0);
  if (!ops[index] || !(error instanceof BackendError)) return error;
  return new BackendError(error.code, `${error.message} (${placeOf(ops, index)})`, {
    cause: error.cause ?? error,
  });
}
