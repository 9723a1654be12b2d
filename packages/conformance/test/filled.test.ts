// What core does for ops that a driver lacks, over drivers that take plans whole.
import { runConformance } from '@quern/conformance';
import { planDriver } from './plan-driver.js';
import { richDriver, toyCodec } from './rich-driver.js';

test('a driver that takes whole plans, with holes', async () => {
  const createDriver = () => planDriver(richDriver(), { timer: (milliseconds) => milliseconds });
  const report = await runConformance({ createDriver, codecs: [toyCodec], only: { suites: ['filled'] } });
  expect(report.results.filter(({ status }) => status !== 'passed')).toEqual([]);
  expect(report.passed).toBeGreaterThan(12);
});
