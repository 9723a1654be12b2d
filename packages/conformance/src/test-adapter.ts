import type { Case } from './case.js';
import { collect } from './collect.js';
import type { ConformanceOptions } from './conformance-options.js';
import { Lab } from './lab.js';
import { needOptions } from './options.js';

/** What jest, vitest and node:test have in common. */
export interface TestFramework {
  describe(name: string, body: () => void): unknown;
  readonly test: ((name: string, body: () => Promise<void>, timeoutMs?: number) => unknown) & {
    skip(name: string, body: () => void): unknown;
  };
}

/** Some cases look for half a second and more, and machines are busy. node:test, which has no limit, ignores it. */
const timeoutMs = 180_000;

function register(one: Case, lab: Lab, { test }: TestFramework): void {
  if ('notSupported' in one) test.skip(`${one.name} (${one.notSupported})`, () => {});
  else test(one.name, () => one.run(lab), timeoutMs);
}

/**
 * Registers one test per case, what the driver does not claim as skipped. Await it at the top of a test file:
 * `await conformanceTests({ createDriver }, { describe, test })`. Throws where no backend can be made of the driver, and what `runConformance` throws.
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
