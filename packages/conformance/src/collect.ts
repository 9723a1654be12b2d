import type { Case } from './case.js';
import type { Lab } from './lab.js';
import type { ConformanceOptions } from './options.js';
import { suites } from './suites/index.js';

/** The cases that the options ask for. */
export function collect(lab: Lab, { only }: ConformanceOptions): readonly Case[] {
  return Object.entries(suites)
    .filter(([name]) => only?.suites?.includes(name) ?? true)
    .flatMap(([, suite]) => suite(lab))
    .filter(({ name }) => only?.cases?.test(name) ?? true);
}
