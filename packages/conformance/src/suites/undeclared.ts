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

/** Proved if the kit has a group. */
const collectiveName = 'collective';

/** One line per absent capability; a failure per declared capability without a suite in this kit. */
export const undeclared = ({
  driver,
  backend,
  options,
}: Pick<Lab, 'driver' | 'backend' | 'options'>): readonly Case[] => {
  const claims: Readonly<Record<string, unknown>> = { ...driver.capabilities };
  return capabilityNames.flatMap((name): Case[] => {
    if (name === collectiveName && options.createGroup) return [];
    if (!claims[name] && !backend[name])
      return [{ suite: name, name, notSupported: `the driver does not declare ${name}` }];
    if (covered.includes(name)) return [];
    return [
      {
        suite: name,
        name,
        async run() {
          throw new Error(
            name === collectiveName
              ? 'the driver declares collective: give the kit `createGroup` to test it'
              : `this version of the kit has no suite for ${name}: it is not tested`,
          );
        },
      },
    ];
  });
};
