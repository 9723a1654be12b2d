// Ops filled by core, over drivers that take whole plans.
import { runConformance } from '@quern/conformance';
import { planDriver } from './plan-driver.js';
import { richDriver, toyCodec } from './rich-driver.js';

test('a plan driver without the optional ops', async () => {
  const createDriver = () => planDriver(richDriver(), { timer: (milliseconds) => milliseconds });
  const report = await runConformance({ createDriver, codecs: [toyCodec], only: { suites: ['filled'] } });
  expect(report.results.filter(({ status }) => status !== 'passed')).toEqual([]);
  expect(report.passed).toBeGreaterThan(12);
});
