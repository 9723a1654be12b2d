// Every case of tools/installs.mjs: `{ name, seconds, runtimes, always, act }`. `seconds`: of a processor, where it runs alone; `runtimes`: it
// fetches them, which `seconds` leaves out; `always`: part of each slice; `act(context)` keeps the rows.
import { aloneCases } from './alone.mjs';
import { bundlerCases } from './bundlers.mjs';
import { doctorCases } from './doctor.mjs';
import { electronCases } from './electron.mjs';
import { managerCases } from './managers.mjs';
import { sliceCount, slicesOf } from './slices.mjs';
import { runnerCases } from './test-runners.mjs';
import { typeCases } from './types.mjs';
import { versionCases } from './versions.mjs';
import { wholeCases } from './whole.mjs';

export const cases = [
  ...managerCases,
  ...aloneCases,
  ...bundlerCases,
  ...wholeCases,
  ...runnerCases,
  ...typeCases,
  ...versionCases,
  ...electronCases,
  ...doctorCases,
];

/** The cases of a slice. @throws Error where there is none of this number */
export function sliceOf(number) {
  const slice = slicesOf(cases)[number];
  if (slice === undefined) throw new Error(`no slice ${number}; there are 0 to ${sliceCount - 1}`);
  return slice;
}

/** The cases of these names: 'types', or 'types/5.7'. @throws Error where there is none */
export function casesOf(names) {
  const hasName = (name) => (each) => each.name === name || each.name.startsWith(`${name}/`);
  const unknown = names.filter((name) => !cases.some(hasName(name)));
  if (unknown.length > 0)
    throw new Error(`no case ${unknown.join(', ')}; there are ${cases.map(({ name }) => name).join(', ')}`);
  return cases.filter((each) => names.some((name) => hasName(name)(each)));
}
