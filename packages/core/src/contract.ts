import type { Backend } from './backend.js';
import type { Driver } from './driver.js';
import { BackendError } from './error.js';

/**
 * Version of the Backend contract. `defineBackend` stamps it on each backend. It grows with every change that makes a
 * Backend of one version unusable for callers of another.
 */
export const contractVersion = 2;

/** The contract of drivers that state none: the version when `Driver.contract` came. */
const unstated = 2;

/**
 * Checks the contract that a driver was written for.
 * @throws BackendError WRONG_CONTRACT, BAD_DRIVER
 */
export function needDriverContract({ name, contract = unstated }: Pick<Driver, 'name' | 'contract'>): void {
  if (!(Number.isSafeInteger(contract) && contract > 0))
    throw new BackendError(
      'BAD_DRIVER',
      `driver '${name}': contract must be a whole number above 0, the contractVersion that it was written for; got ${String(contract)}`,
    );
  if (contract !== contractVersion) throw wrongContract(`driver '${name}'`, contract, 'its package');
}

/** @param owner the package to update where the other side is older */
function wrongContract(named: string, contract: number, owner: string): BackendError {
  const made = `${named} was made for contract ${contract} of @quern/core`;
  const message =
    contract > contractVersion
      ? `${made}, which is newer than contract ${contractVersion} here: update @quern/core, @quern/models and @quern/runtime`
      : `${made}; contract ${contractVersion} is needed: update ${owner}`;
  return new BackendError('WRONG_CONTRACT', message);
}

/**
 * Checks that a backend fits this copy of the package. Call it first on every backend that others made.
 * @param from the package of the backend, if known
 * @throws BackendError WRONG_CONTRACT, with the name of the package to update
 */
export function needContract(backend: Backend, from?: string): void {
  const contract: unknown = backend.contract;
  if (contract === contractVersion) return;
  const named = `backend '${String(backend.name)}'${from === undefined ? '' : ` of ${from}`}`;
  const owner = from ?? 'the package that it comes from';
  if (typeof contract === 'number') throw wrongContract(named, contract, owner);
  throw new BackendError(
    'WRONG_CONTRACT',
    `${named} has no contract version, as those made by defineBackend of @quern/core have; contract ${contractVersion} is needed: update ${owner}`,
  );
}
