import { collectiveOps } from './collectives/index.js';
import type { Driver } from './driver.js';
import { BackendError } from './error.js';
import { fusedOps } from './fusions/index.js';
import { coreOps } from './ops/index.js';
import { adviceFor } from './options/nearest-name.js';

/** Names of ops by the part of a driver that has them. Any of them may be a kernel. */
const opTables = {
  'manifest.ops': [coreOps],
  'manifest.fused': [fusedOps],
  'manifest.collective': [collectiveOps],
  kernels: [coreOps, fusedOps, collectiveOps],
} as const;

type OpPart = keyof typeof opTables;

const laterOp =
  'an op of a later @quern/core needs that version; a driver for several versions adds it only where their op table has it';

/** Throws BAD_DRIVER for a name that is no op of this version of core. */
function needOps({ name: driver }: Driver, part: OpPart, entries: object = {}): void {
  const known = opTables[part].flatMap((ops) => Object.keys(ops));
  const [other] = Object.entries(entries).find(([name, entry]) => entry && !known.includes(name)) ?? [];
  if (other === undefined) return;
  throw new BackendError(
    'BAD_DRIVER',
    `driver '${driver}': ${part} has an unknown op '${other}': ${adviceFor(other, known)} (${laterOp})`,
  );
}

/** Throws BAD_DRIVER for an unknown op in the manifest or among the kernels: a kernel of that name would never run. */
export function needKnownOps(driver: Driver): void {
  const { ops, fused, collective } = driver.manifest;
  needOps(driver, 'manifest.ops', ops);
  needOps(driver, 'manifest.fused', fused);
  needOps(driver, 'manifest.collective', collective);
  if ('kernels' in driver) needOps(driver, 'kernels', driver.kernels);
}
