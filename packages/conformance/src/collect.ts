import type { Case } from './case.js';
import type { ConformanceOptions } from './conformance-options.js';
import { ConformanceError } from './error.js';
import type { Lab } from './lab.js';
import { suites } from './suites/index.js';

/** The cases selected by the options. Throws NO_CASES if there are none: an empty run proves nothing. */
export function collect(lab: Lab, { only }: ConformanceOptions): readonly Case[] {
  const cases = Object.entries(suites)
    .filter(([name]) => only?.suites?.includes(name) ?? true)
    .flatMap(([, suite]) => suite(lab))
    .filter(
      ({ name }) =>
        only?.cases === undefined || new RegExp(only.cases, only.cases.flags.replace(/[gy]/g, '')).test(name),
    )
    .filter(({ suite, name }, place) => only?.takes?.(place, { suite, name }) ?? true);
  if (cases.length === 0) throw new ConformanceError('NO_CASES', nothingLeft(lab, only));
  return cases;
}

function nothingLeft({ driver }: Lab, only: ConformanceOptions['only']): string {
  const suites = only?.suites ? `suites ${only.suites.join(', ') || '(none)'}` : 'all suites';
  const cases = only?.cases ? `, cases like ${only.cases}` : '';
  const taken = only?.takes ? ', those that `takes` takes' : '';
  return `no case to run on driver '${driver.name}': ${suites}${cases}${taken}. The suite of a capability has cases only if the driver declares it`;
}
