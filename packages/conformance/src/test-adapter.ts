import type { Case } from './case.js';
import { collect } from './collect.js';
import type { ConformanceOptions } from './conformance-options.js';
import { Lab } from './lab.js';
import { needOptions } from './options.js';

/** Common functions of jest, vitest and node:test. */
export interface TestFramework {
  describe(name: string, body: () => void): unknown;
  readonly test: ((name: string, body: () => Promise<void>, timeoutMs?: number) => unknown) & {
    skip(name: string, body: () => void): unknown;
  };
}

/** Some cases run half a second and more, and machines are busy. node:test has no limit and ignores this. */
const timeoutMs = 180_000;

function register(one: Case, lab: Lab, { test }: TestFramework): void {
  if ('notSupported' in one) test.skip(`${one.name} (${one.notSupported})`, () => {});
  else test(one.name, () => one.run(lab), timeoutMs);
}

/**
 * Registers one test per case; unclaimed cases are skipped. Await it at the top of a test file: `await
 * conformanceTests({ createDriver }, { describe, test })`. Throws if the driver makes no backend, and all errors of
 * `runConformance`.
 */
export async function conformanceTests(options: ConformanceOptions, framework: TestFramework): Promise<void> {
  needOptions(options);
  const lab = await Lab.start(options);
  const bySuite = new Map<string, Case[]>();
  for (const one of collect(lab, options)) bySuite.set(one.suite, [...(bySuite.get(one.suite) ?? []), one]);
  for (const [suite, cases] of bySuite)
    framework.describe(suite, () => {
      for (const one of cases) register(one, lab, framework);
    });
  framework.test('every backend is disposed of', async () => lab.dispose());
}
