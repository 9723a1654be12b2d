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
  'inputs are taken when the device begins, not at the call': [
    { take: (inputs, ranges) => () => rightFlight.take(inputs, ranges)() },
    /^replays asked for together/,
  ],
  'of the dirty ranges only the first is taken': [
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
    /^replays asked for together/,
  ],
  'plans do not wait for the one before them': [
    { after: async () => {} },
    /^(replays|replays and steps settle|an abort of all)/,
  ],
  'the abort word is never read': [{ control: () => new Int32Array(1) }, /^the abort of one/],
  'all runs of a graph have one control word': [{ control: (_own, io) => io.control }, /^the abort of one/],
};

describe('the kit finds', () => {
  test.each(Object.entries(faults))('%s', async (_, [fault, caughtBy]) => {
    const report = await run({ ...rightFlight, ...fault });
    const names = report.results.filter(({ status }) => status === 'failed').map(({ name }) => name);
    expect(names).toContainEqual(expect.stringMatching(caughtBy));
  });
});
