import type { Backend } from './backend.js';
import { BackendError } from './error.js';

/**
 * Version of the Backend contract. `defineBackend` stamps it on each backend. It grows with every change that makes a
 * Backend of one version unusable for callers of another.
 */
export const contractVersion = 2;

/**
 * Checks that a backend fits this copy of the package. Call it first on every backend that others made.
 * @param from the package of the backend, if known
 * @throws BackendError WRONG_CONTRACT, with the name of the package to update
 */
export function needContract(backend: Backend, from?: string): void {
  const contract: unknown = backend.contract;
  if (contract === contractVersion) return;
  const named = `backend '${String(backend.name)}'${from === undefined ? '' : ` of ${from}`}`;
  if (typeof contract === 'number' && contract > contractVersion)
    throw new BackendError(
      'WRONG_CONTRACT',
      `${named} was made for contract ${contract} of @quern/core, which is newer than contract ${contractVersion} here: update @quern/core, @quern/models and @quern/runtime`,
    );
  const made =
    typeof contract === 'number'
      ? `was made for contract ${contract} of @quern/core`
      : 'has no contract version, as those made by defineBackend of @quern/core have';
  throw new BackendError(
    'WRONG_CONTRACT',
    `${named} ${made}; contract ${contractVersion} is needed: update ${from ?? 'the package that it comes from'}`,
  );
}
