import { formatReport, runConformance } from '@quern/conformance';
import { testDevice } from './driver.js';

/** Suites in which plans are in flight together, or in which what they hold is given back. */
const inFlight = {
  suites: [
    ...['plans', 'steps', 'lifecycle', 'abort', 'memory', 'concurrency'],
    ...['caches', 'pagedKv', 'graph', 'chain', 'inFlight', 'timer'],
  ],
};

test.each([1, 2])(
  'the test device passes the kit with %d plans in flight',
  async (plansInFlight) => {
    const report = await runConformance({
      createDriver: () => testDevice({ plansInFlight }),
      only: plansInFlight === 1 ? undefined : inFlight,
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
