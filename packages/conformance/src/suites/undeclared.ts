import { capabilityNames } from '@quern/core';
import type { Case } from '../case.js';
import type { Lab } from '../lab.js';

/** Capabilities that have a suite in this version of the kit. */
const covered: readonly string[] = [
  'pagedKv',
  'moeFused',
  'graph',
  'quantGguf',
  'quantGptq',
  'kvQuant',
  'timer',
];

/** One line for each capability that is not there, and a failure for each that is there and that nothing here proves. */
export const undeclared = ({ driver, backend }: Pick<Lab, 'driver' | 'backend'>): readonly Case[] => {
  const claims: Readonly<Record<string, unknown>> = { ...driver.capabilities };
  return capabilityNames.flatMap((name): Case[] => {
    if (!claims[name] && !backend[name])
      return [{ suite: name, name, notSupported: `the driver does not declare ${name}` }];
    if (covered.includes(name)) return [];
    return [
      {
        suite: name,
        name,
        async run() {
          throw new Error(`this version of the kit has no suite for ${name}: it is not proved`);
        },
      },
    ];
  });
};
