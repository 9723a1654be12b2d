import type { Case } from './case.js';
import { collect } from './collect.js';
import type { ConformanceOptions, Result } from './conformance-options.js';
import { Lab } from './lab.js';
import { needOptions } from './options.js';
import { type Report, reportOf } from './report.js';

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function runOne(one: Case, lab: Lab): Promise<Result> {
  const { suite, name } = one;
  if ('notSupported' in one) return { suite, name, status: 'not supported', message: one.notSupported };
  try {
    await one.run(lab);
    return { suite, name, status: 'passed' };
  } catch (error) {
    return { suite, name, status: 'failed', message: messageOf(error) };
  }
}

/** The single result for a driver that makes no backend. */
function refusedDriver(error: unknown): Report {
  const [suite, name] = ['manifest', 'a backend can be made of the driver'];
  return reportOf([{ suite, name, status: 'failed', message: messageOf(error) }]);
}

/**
 * Runs the kit on a driver. Faults of the driver are in the report, never a rejection. Rejects with ConformanceError
 * BAD_OPTION for an unknown option or suite, NO_CASES if the options select no case.
 */
export async function runConformance(options: ConformanceOptions): Promise<Report> {
  needOptions(options);
  let lab: Lab;
  try {
    lab = await Lab.start(options);
  } catch (error) {
    return refusedDriver(error);
  }
  try {
    const results: Result[] = [];
    for (const one of collect(lab, options)) {
      options.onCase?.({ suite: one.suite, name: one.name });
      const result = await runOne(one, lab);
      results.push(result);
      options.onResult?.(result);
    }
    return reportOf(results, lab.closeness.all);
  } finally {
    lab.dispose();
  }
}
