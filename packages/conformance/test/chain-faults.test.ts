import { formatReport, runConformance } from '@quern/conformance';
import type { PlanIo, PlanWords } from '@quern/core';
import { planDriver, type RunChain } from './plan-driver.js';
import { richDriver } from './rich-driver.js';

/** The parts of a right chain; a fault replaces one of them. */
interface Parts {
  /** Whether the words of replay number `done` end the chain. */
  ends(done: number, count: number, words: Int32Array, stops: Int32Array): boolean;
  keep(results: Int32Array, words: Int32Array, replay: number): void;
  feed(to: Int32Array, words: Int32Array): void;
  advance(words: Int32Array): void;
  /** After the last replay. */
  finish(feed: () => void): void;
}

const right: Parts = {
  ends: (done, count, words, stops) => done === count || words.some((word) => stops.includes(word)),
  keep: (results, words, replay) => results.set(words, replay * words.length),
  feed: (to, words) => to.set(words),
  advance(words) {
    for (let i = 0; i < words.length; i++) words[i]!++;
  },
  finish() {},
};

const view = (memory: PlanIo['inputs'], { byteOffset, count }: PlanWords) =>
  new Int32Array(memory, byteOffset, count);

const chainOf =
  (parts: Parts): RunChain =>
  async (replay, io, chain, count, stops) => {
    const words = view(io.outputs, chain.output);
    const change = () => {
      parts.feed(view(io.inputs, chain.feed), words);
      for (const growing of chain.advance) parts.advance(view(io.inputs, growing));
    };
    for (let done = 1; ; done++) {
      await replay();
      parts.keep(chain.results, words, done - 1);
      if (parts.ends(done, count, words, stops)) {
        parts.finish(change);
        return done;
      }
      change();
    }
  };

const run = (runChain: RunChain) =>
  runConformance({ createDriver: () => planDriver(richDriver(), { runChain }), only: { suites: ['chain'] } });

test('a driver with right chains passes', async () => {
  const report = await run(chainOf(right));
  expect(formatReport(report)).toContain(' 0 failed');
  expect(report.passed).toBeGreaterThan(10);
});

const faults: Readonly<Record<string, readonly [fault: Partial<Parts>, caughtBy: RegExp]>> = {
  'the output is not fed back': [{ feed() {} }, /^every count/],
  'positions stand still': [{ advance() {} }, /^every count/],
  'positions grow by two': [
    { advance: (words) => words.forEach((word, i) => words.fill(word + 2, i, i + 1)) },
    /^every count/,
  ],
  'only the first position grows': [
    { advance: (words) => words.fill(words[0]! + 1, 0, 1) },
    /^several words/,
  ],
  'results lie over each other': [{ keep: (results, words) => results.set(words) }, /^every count/],
  'stops are not looked at': [{ ends: (done, count) => done === count }, /^a stop ends it/],
  'only the first word can stop': [
    { ends: (done, count, words, stops) => done === count || stops.includes(words[0]!) },
    /^a stop in any/,
  ],
  'only the first stop is looked at': [
    { ends: (done, count, words, stops) => done === count || words.includes(stops[0] ?? -1) },
    /^a stop ends it/,
  ],
  'inputs change after the last replay': [{ finish: (change) => change() }, /^inputs stay/],
};

describe('the kit finds', () => {
  test.each(Object.entries(faults))('%s', async (_, [fault, caughtBy]) => {
    const report = await run(chainOf({ ...right, ...fault }));
    const failed = report.results.filter(({ status }) => status === 'failed').map(({ name }) => name);
    expect(failed).toEqual(expect.arrayContaining([expect.stringMatching(caughtBy)]));
  });

  test('an abort that a chain does not pass on', async () => {
    const deaf: RunChain = async (replay, io, chain, count, stops) => {
      const mine = () => replay().catch(() => {});
      return chainOf(right)(mine, io, chain, Math.min(count, 600), stops);
    };
    const report = await run(deaf);
    const failed = report.results.filter(({ status }) => status === 'failed').map(({ name }) => name);
    expect(failed).toEqual(expect.arrayContaining([expect.stringMatching(/^an (abort between|index that)/)]));
  });
});
