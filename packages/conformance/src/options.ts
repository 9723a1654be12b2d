import type { ConformanceOptions } from './conformance-options.js';

import { ConformanceError } from './error.js';
import { suites } from './suites/index.js';

const known = {
  createDriver: true,
  createBackend: true,
  createGroup: true,
  codecs: true,
  only: true,
  seed: true,
  memoryLimitProbe: true,
  onCase: true,
  onResult: true,
} as const satisfies Record<keyof ConformanceOptions, true>;

function needNames(names: readonly string[], known: object, what: string): void {
  for (const name of names)
    if (!(name in known))
      throw new ConformanceError(
        'BAD_OPTION',
        `there is no ${what} '${name}'; there are ${Object.keys(known).join(', ')}`,
      );
}

/** Throws BAD_OPTION for an unknown name. */
export function needOptions(options: ConformanceOptions): void {
  if (typeof options?.createDriver !== 'function')
    throw new ConformanceError('BAD_OPTION', 'createDriver must be a function that makes a driver');
  if (!['function', 'undefined'].includes(typeof options.createBackend))
    throw new ConformanceError('BAD_OPTION', 'createBackend must be a function that makes a backend');
  needNames(Object.keys(options), known, 'option');
  const { seed = 0 } = options;
  if (!(Number.isInteger(seed) && seed >= 0))
    throw new ConformanceError('BAD_OPTION', `seed must be a whole number of 0 or more; got ${seed}`);
  needNames(
    Object.keys(options.only ?? {}),
    { suites: true, cases: true, takes: true },
    'part of `only` called',
  );
  needNames(options.only?.suites ?? [], suites, 'suite');
}
