import { formatReport, runConformance } from '@quern/conformance';
import { testDevice } from './driver.js';

test('the test device passes the kit', async () => {
  const report = await runConformance({ createDriver: testDevice });
  expect(formatReport(report)).toContain(' 0 failed');
}, 1_200_000);
