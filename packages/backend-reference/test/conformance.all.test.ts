import { formatReport, runConformance } from '@quern/conformance';
import { createBackend, referenceDriver } from '../src/index.js';

test('the reference backend conforms', async () => {
  const report = await runConformance({ createDriver: referenceDriver, createBackend });
  const failures = report.results.filter(({ status }) => status === 'failed');
  expect(failures).toEqual([]);
  expect(report.passed).toBeGreaterThan(1000);
  const notSupported = report.results.filter(({ status }) => status === 'not supported');
  expect(new Set(notSupported.map(({ suite }) => suite))).toEqual(
    new Set(['fused', 'words', 'moeFused', 'quantGguf', 'collective']),
  );
  expect(formatReport(report)).toMatch(/0 failed, \d+ not supported$/);
}, 300_000);
