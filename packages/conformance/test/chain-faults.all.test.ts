import { formatReport, runConformance } from '@quern/conformance';
import { BackendError, type PlanChain, type PlanIo, type PlanWords } from '@quern/core';
import { planDriver, type RunChain } from './plan-driver.js';
import { richDriver } from './rich-driver.js';

const view = (memory: PlanIo['inputs'], { byteOffset, count }: PlanWords) =>
  new Int32Array(memory, byteOffset, count);

/** A chain between two replays. */
class Rows {
  readonly found: Int32Array;
  readonly ended: boolean[];

  constructor(
    readonly io: PlanIo,
    readonly chain: PlanChain,
    readonly limits: Int32Array,
    readonly stops: Int32Array,
  ) {
    this.found = view(io.outputs, chain.output);
    this.ended = Array.from(this.found, () => false);
  }

  get most(): number {
    return this.chain.results.length / this.found.length;
  }

  words(words: PlanWords): Int32Array {
    return view(this.io.inputs, words);
  }
}

/** The parts of a correct chain; each fault replaces one. */
interface Parts {
  keep(rows: Rows, done: number): void;
  count(rows: Rows, row: number, done: number): void;
  /** Between the counts and the ends of rows. */
  report(onReplays: (done: number) => void, done: number): void;
  /** Before the results of replay number `done` are there. */
  early(onReplays: (done: number) => void, done: number): void;
  /** Whether a row ends after replay number `done`. */
  ends(rows: Rows, row: number, done: number): boolean;
  /** Whether the chain continues. */
  goesOn(rows: Rows): boolean;
  /** Whether the inputs of a row change. */
  moves(rows: Rows, row: number): boolean;
  feed(rows: Rows, row: number): void;
  advance(rows: Rows, row: number): void;
  slot(rows: Rows, row: number): void;
  /** After the last replay. */
  finish(rows: Rows): void;
}

const right: Parts = {
  keep: ({ chain, found }, done) => chain.results.set(found, (done - 1) * found.length),
  count: ({ chain }, row, done) => chain.counts.fill(done, row, row + 1),
  report: (onReplays, done) => onReplays(done),
  early() {},
  ends: ({ found, stops, limits, most }, row, done) =>
    stops.includes(found[row]!) || done >= limits[row]! || done >= most,
  goesOn: ({ ended }) => ended.includes(false),
  moves: ({ ended }, row) => !ended[row],
  feed: (rows, row) => rows.words(rows.chain.feed).fill(rows.found[row]!, row, row + 1),
  advance(rows, row) {
    for (const growing of rows.chain.advance) rows.words(growing)[row]!++;
  },
  slot: (rows, row) => setSlot(rows, row, (position, size) => Math.floor(position / size)),
  finish() {},
};

/** `block`: index of the position's block in a row's blocks. `from`: row of the block table that is used. */
function setSlot(
  rows: Rows,
  row: number,
  block: (position: number, blockSize: number) => number,
  from = row,
): void {
  const { slots } = rows.chain;
  if (!slots) return;
  const [position, table] = [rows.words(slots.positions)[row]!, rows.words(slots.blockTable)];
  const perRow = table.length / rows.found.length;
  const at = block(position, slots.blockSize);
  if (at >= perRow) throw new BackendError('OUT_OF_RANGE', `position ${position} has no block`);
  rows.words(slots.slots)[row] = table[from * perRow + at]! * slots.blockSize + (position % slots.blockSize);
}

function move(parts: Parts, rows: Rows): void {
  rows.found.forEach((_, row) => {
    if (!parts.moves(rows, row)) return;
    parts.feed(rows, row);
    parts.advance(rows, row);
    parts.slot(rows, row);
  });
}

const chainOf =
  (parts: Parts): RunChain =>
  async (replay, io, chain, limits, stops, onReplays) => {
    const rows = new Rows(io, chain, limits, stops);
    const going = () => [...rows.found.keys()].filter((row) => !rows.ended[row]);
    for (let done = 1; ; done++) {
      await replay();
      if (onReplays) parts.early(onReplays, done);
      parts.keep(rows, done);
      for (const row of going()) parts.count(rows, row, done);
      if (onReplays) parts.report(onReplays, done);
      for (const row of going()) rows.ended[row] = parts.ends(rows, row, done);
      if (!parts.goesOn(rows)) {
        parts.finish(rows);
        return done;
      }
      move(parts, rows);
    }
  };

const run = (runChain: RunChain) =>
  runConformance({ createDriver: () => planDriver(richDriver(), { runChain }), only: { suites: ['chain'] } });

test.each<[string, Parts['report']]>([
  ['and all reports', right.report],
  ['and reports of every second replay', (onReplays, done) => done % 2 === 0 && onReplays(done)],
  ['and no reports', () => {}],
  ['and reports that come twice', (onReplays, done) => [done, done - 1, done].forEach(onReplays)],
])('a driver with correct chains %s passes', async (_, reports) => {
  const report = await run(chainOf({ ...right, report: reports }));
  expect(formatReport(report)).toContain(' 0 failed');
  expect(report.passed).toBeGreaterThan(15);
});

const faults: Readonly<Record<string, readonly [fault: Partial<Parts>, caughtBy: RegExp]>> = {
  'the output is not fed back': [{ feed() {} }, /^every limit/],
  'positions do not grow': [{ advance() {} }, /^every limit/],
  'positions grow by two': [
    {
      advance(rows, row) {
        right.advance(rows, row);
        right.advance(rows, row);
      },
    },
    /^every limit/,
  ],
  'only the first position grows': [
    { advance: (rows, row) => row === 0 && right.advance(rows, row) },
    /^several rows/,
  ],
  'results overwrite each other': [{ keep: ({ chain, found }) => chain.results.set(found) }, /^every limit/],
  'every row counts to the end': [
    { count: ({ chain }, _row, done) => chain.counts.fill(done) },
    /^each row has its own limit/,
  ],
  'the limit of the first row applies to all': [
    {
      ends: ({ found, stops, limits, most }, row, done) =>
        stops.includes(found[row]!) || done >= limits[0]! || done >= most,
    },
    /^each row has its own limit/,
  ],
  'an ended row continues': [{ moves: () => true }, /^a row that has ended/],
  'stops are ignored': [
    { ends: ({ limits, most }, row, done) => done >= limits[row]! || done >= most },
    /^a stop ends a row/,
  ],
  'a stop ends all rows': [{ goesOn: ({ ended }) => !ended.includes(true) }, /^a stop of one row/],
  'only the first stop is used': [
    {
      ends: ({ found, stops, limits, most }, row, done) =>
        stops[0] === found[row] || done >= limits[row]! || done >= most,
    },
    /^a stop ends a row/,
  ],
  'slots stay': [{ slot() {} }, /^slots follow/],
  'slots grow by one across block borders': [
    { slot: ({ chain, io }, row) => chain.slots && view(io.inputs, chain.slots.slots)[row]!++ },
    /^slots follow/,
  ],
  'every row uses the first row of the block table': [
    { slot: (rows, row) => setSlot(rows, row, (position, size) => Math.floor(position / size), 0) },
    /^slots follow/,
  ],
  'positions beyond the last block use the last block': [
    { slot: (rows, row) => setSlot(rows, row, (position, size) => Math.min(2, Math.floor(position / size))) },
    /^a position beyond/,
  ],
  'replays are reported before their results are there': [
    { early: (onReplays, done) => onReplays(done) },
    /^a listener is called/,
  ],
  'replays are reported before they have run': [
    { report: (onReplays, done) => onReplays(done + 1) },
    /^a listener is called/,
  ],
  'inputs change after the last replay': [
    { finish: (rows) => move({ ...right, moves: () => true }, rows) },
    /^inputs stay/,
  ],
};

describe('the kit finds', () => {
  test.each(Object.entries(faults))('%s', async (_, [fault, caughtBy]) => {
    const report = await run(chainOf({ ...right, ...fault }));
    const failed = report.results.filter(({ status }) => status === 'failed').map(({ name }) => name);
    expect(failed).toEqual(expect.arrayContaining([expect.stringMatching(caughtBy)]));
  });

  test('limits that are read only once', async () => {
    const report = await run((replay, io, chain, limits, stops) => {
      let replays = 0;
      const quick = async () => void (++replays < 1000 && (await replay())); // long chains end soon
      return chainOf(right)(quick, io, chain, limits.slice(), stops, undefined);
    });
    const failed = report.results.filter(({ status }) => status === 'failed').map(({ name }) => name);
    expect(failed).toContainEqual(expect.stringMatching(/^a limit lowered/));
  });

  test('an abort that a chain ignores', async () => {
    const deaf: RunChain = async (replay, io, chain, limits, stops) => {
      const mine = () => replay().catch(() => {});
      return chainOf(right)(
        mine,
        io,
        chain,
        limits.map((limit) => Math.min(limit, 600)),
        stops,
        undefined,
      );
    };
    const report = await run(deaf);
    const failed = report.results.filter(({ status }) => status === 'failed').map(({ name }) => name);
    expect(failed).toEqual(expect.arrayContaining([expect.stringMatching(/^an (abort between|index that)/)]));
  });
});
