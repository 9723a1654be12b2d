import { contractVersion, coreOps, type Driver, defineBackend, fills, type Manifest } from '@quern/core';
import type { Case, Suite } from '../case.js';
import { refusal } from '../values/refusal.js';
import { declaredNames } from './declared-names.js';

/** The driver with another property. */
const changed = (driver: Driver, name: string, value: unknown): Driver =>
  Object.create(driver, { [name]: { value } });

const suite = 'manifest';

/** A driver changed to break its contract must be refused at the making of its backend. */
const refused = (name: string, alter: (driver: Driver) => Driver): Case => ({
  suite,
  name,
  async run({ driver }) {
    await refusal('BAD_DRIVER', () => defineBackend(alter(driver)));
  },
});

/** A driver that states the contract it was written for is refused under any other. */
const statedContract = (driver: Driver): Case =>
  driver.contract === undefined
    ? {
        suite,
        name: 'the contract is stated',
        notSupported: `the driver does not state the contract that it was written for; add contract: ${contractVersion}`,
      }
    : {
        suite,
        name: 'the contract is stated',
        async run({ driver: own }) {
          await refusal('WRONG_CONTRACT', () => defineBackend(changed(own, 'contract', contractVersion + 1)));
        },
      };

function without(manifest: Manifest, op: string): unknown {
  const ops = Object.entries(manifest.ops).filter(([name]) => name !== op);
  return { ...manifest, ops: Object.fromEntries(ops) };
}

const requiredOps = Object.keys(coreOps).filter((op) => !(op in fills));

export const manifest: Suite = ({ driver }) => [
  statedContract(driver),
  declaredNames,
  ...requiredOps.map((op) =>
    refused(`a hole: no ${op}`, (d) => changed(d, 'manifest', without(d.manifest, op))),
  ),
  refused('an unknown op', (d) =>
    changed(d, 'manifest', { ...d.manifest, ops: { ...d.manifest.ops, transmogrify: { dtypes: ['f32'] } } }),
  ),
  refused('an unknown fused op', (d) =>
    changed(d, 'manifest', { ...d.manifest, fused: { addTransmogrify: { dtypes: ['f32'] } } }),
  ),
  'kernels' in driver
    ? refused('a claim without a kernel', (d) => changed(d, 'kernels', {}))
    : { suite, name: 'a claim without a kernel', notSupported: 'the driver takes whole plans' },
];
