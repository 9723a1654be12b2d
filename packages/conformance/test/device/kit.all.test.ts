import { formatReport, runConformance } from '@quern/conformance';
import { exhaustive } from '../../../../test-scope.js';
import { testDevice } from './driver.js';

/** Suites of what only such a device does. Most kernels are the op definitions, which backend-reference has, too. */
const own = {
  suites: [
    ...['fused', 'plans', 'bf16', 'steps', 'lifecycle', 'abort', 'memory', 'words', 'concurrency'],
    ...['caches', 'pagedKv', 'filled', 'graph', 'chain', 'inFlight', 'timer'],
  ],
};

test.each([1, 2])(
  'the test device passes the kit with %d plans in flight',
  async (plansInFlight) => {
    const report = await runConformance({
      createDriver: () => testDevice({ plansInFlight }),
      only: exhaustive && plansInFlight === 1 ? undefined : own,
    });
    expect(formatReport(report)).toContain(' 0 failed');
  },
  1_200_000,
);

test('products of rounded rows and tables of integer angles are within their tolerance', async () => {
  const only = {
    suites: ['ops', 'generated', 'views', 'rows'],
    cases: /linear|gateUpSwiglu|biasGelu|kvAppend|projections|ropeTable/i,
  };
  const report = await runConformance({ createDriver: () => testDevice(), only });
  expect(formatReport(report)).toContain(' 0 failed');
}, 300_000);
