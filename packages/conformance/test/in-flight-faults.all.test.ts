import { formatReport, runConformance } from '@quern/conformance';
import { type FlightParts, inFlightDriver, rightFlight } from './in-flight-driver.js';
import { planDriver } from './plan-driver.js';
import { richDriver } from './rich-driver.js';

const run = (parts: FlightParts) =>
  runConformance({
    createDriver: () => inFlightDriver(planDriver(richDriver()), parts),
    only: { suites: ['inFlight'] },
  });

test('a driver with two plans in flight passes', async () => {
  const report = await run(rightFlight);
  expect(formatReport(report)).toContain(' 0 failed');
});

const faults: Readonly<Record<string, readonly [fault: Partial<FlightParts>, caughtBy: RegExp]>> = {
  'inputs are taken when the device starts, not at the call': [
    { take: (inputs, ranges) => () => rightFlight.take(inputs, ranges)() },
    /^replays requested together/,
  ],
  'only the first dirty range is taken': [
    { take: (inputs, ranges) => rightFlight.take(inputs, ranges.slice(0, 1)) },
    /^parts of an input/,
  ],
  'a dirty range is taken without its last word': [
    {
      take: (inputs, ranges) =>
        rightFlight.take(
          inputs,
          ranges.map(({ from, to }) => ({ from, to: to - 4 })),
        ),
    },
    /^replays requested together/,
  ],
  'plans do not wait for the previous plan': [
    { after: async () => {} },
    /^(replays|replays and steps settle|an abort of all)/,
  ],
  'all runs of a graph share one control word': [{ control: (_own, io) => io.control }, /^the abort of one/],
};

describe('the kit finds', () => {
  test.each(Object.entries(faults))('%s', async (_, [fault, caughtBy]) => {
    const report = await run({ ...rightFlight, ...fault });
    const names = report.results.filter(({ status }) => status === 'failed').map(({ name }) => name);
    expect(names).toContainEqual(expect.stringMatching(caughtBy));
  });
});
