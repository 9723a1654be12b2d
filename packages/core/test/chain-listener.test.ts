// Tokens of a chain that are told while it runs, for drivers with reports, without reports, and without chains.
import {
  BackendError,
  type CapturedGraph,
  type CapturedPlan,
  defineBackend,
  faultCodes,
  need,
  type PlanChain,
  type PlanIo,
} from '../src/index.js';
import { definitionDriver } from './definition-driver.js';

type ReplayChain = NonNullable<CapturedPlan['replayChain']>;

/** What a driver makes of the arguments of `replayChain`, with the chain's memory. */
type Chain = (chain: PlanChain, io: PlanIo, ...given: Parameters<ReplayChain>) => Promise<number>;

const most = 5;

/** A captured step of two rows. Without `chain` the driver replays one by one: `replay` writes its outputs. */
async function captured(
  chain: Chain | undefined,
  replay: (io: PlanIo) => void = () => {},
): Promise<CapturedGraph> {
  const { kernels: _kernels, ...rest } = definitionDriver();
  const backend = defineBackend({
    ...rest,
    capabilities: { graph: true },
    executor: {
      execute: async () => {},
      capture: (_plan, io, places) => ({
        replay: async () => replay(io),
        ...(chain && { replayChain: (...given: Parameters<ReplayChain>) => chain(places!, io, ...given) }),
        dispose() {},
      }),
    },
  });
  need(backend, 'graph');
  const bytes = new Uint8Array(4 * 3 * 4);
  const table = await backend.loadWeight({ name: 'w', shape: [3, 4], format: 'f32', bytes });
  const step = backend.step();
  const feed = step.input(Int32Array.of(0, 0));
  const output = backend.argmax(backend.embed(table, feed));
  return backend.graph.capture(step, { chain: { output, feed, advance: [], most } });
}

function limits(...counts: readonly number[]): Int32Array {
  const words = new Int32Array(new SharedArrayBuffer(4 * counts.length));
  words.set(counts);
  return words;
}

/** Tokens 10, 20, 30, … of row 0, and 11, 21, 31, … of row 1. */
function compute({ results, counts }: PlanChain, done: number, limits: Int32Array): void {
  results.set([10 * done, 10 * done + 1], 2 * (done - 1));
  for (const [row, limit] of limits.entries()) counts[row] = Math.min(done, limit);
}

/** A driver with reports: each in an event of its own. */
const reporting: Chain = async (chain, _io, rows, _stops, _dirty, _control, onReplays) => {
  const given = rows.slice();
  for (let done = 1; ; done++) {
    await new Promise((resolve) => setImmediate(resolve));
    compute(chain, done, given);
    onReplays?.(done);
    if (rows.every((limit) => done >= limit)) return done;
  }
};

/** A driver that knows of no reports. */
const silent: Chain = async (chain, _io, rows) => {
  const replays = Math.max(...rows);
  for (let done = 1; done <= replays; done++) compute(chain, done, rows);
  return replays;
};

/** The calls of a listener, and the end of the chain. */
function listener() {
  const heard: (readonly number[] | string)[] = [];
  const onTokens = (tokens: Int32Array, step: number) => void heard.push([step, ...tokens]);
  const end = (running: Promise<unknown>) =>
    running.then(
      () => void heard.push('end'),
      (error) => void heard.push(`${error.code ?? error.message}`),
    );
  return { heard, onTokens, end };
}

/** As `compute`, of a step that replays one by one. */
function counter(): (io: PlanIo) => void {
  let replays = 0;
  return ({ outputs }) => {
    replays++;
    new Int32Array(outputs).set([10 * replays, 10 * replays + 1]);
  };
}

describe.each<[string, () => Promise<CapturedGraph>]>([
  ['reports', () => captured(reporting)],
  ['no reports', () => captured(silent)],
  ['no chains', () => captured(undefined, counter())],
])('a driver with %s', (_, graphOf) => {
  test('tells each step once, with −1 for rows that have ended', async () => {
    const { heard, onTokens, end } = listener();
    const graph = await graphOf();
    await end(graph.replayChain({ limits: limits(3, 1), onTokens }));
    expect(heard).toEqual([[0, 10, 11], [1, 20, -1], [2, 30, -1], 'end']);
  });

  test('gives tokens that stay as they are, and leave the result alone', async () => {
    const kept: Int32Array[] = [];
    const graph = await graphOf();
    const onTokens = (tokens: Int32Array) => void kept.push(tokens.fill(7, 1));
    const { tokens } = await graph.replayChain({ limits: limits(2, 2), onTokens });
    expect(kept.map((step) => [...step])).toEqual([
      [10, 7],
      [20, 7],
    ]);
    expect([...tokens]).toEqual([10, 11, 20, 21]);
  });

  test('rejects with the error of the listener, and calls it no more', async () => {
    const { heard, onTokens, end } = listener();
    const graph = await graphOf();
    const words = limits(4, 4);
    const failing = (tokens: Int32Array, step: number) => {
      onTokens(tokens, step);
      if (step === 1) throw new Error('no reader');
    };
    await end(graph.replayChain({ limits: words, onTokens: failing }));
    expect(heard).toEqual([[0, 10, 11], [1, 20, 21], 'no reader']);
    expect([...words]).toEqual([0, 0]);
  });
});

test('an error of the listener ends the chain after its step', async () => {
  let replays = 0;
  for (const graph of [
    await captured(async (...given) => (replays = await reporting(...given))),
    await captured(undefined, () => void replays++),
  ]) {
    replays = 0;
    const onTokens = () => {
      throw new Error('no reader');
    };
    await expect(graph.replayChain({ limits: limits(5, 5), onTokens })).rejects.toThrow('no reader');
    expect(replays).toBe(1);
  }
});

test('a driver gets a listener only where there is one', async () => {
  const given: unknown[] = [];
  const graph = await captured(async (...all) => {
    given.push(all[6]);
    return silent(...all);
  });
  await graph.replayChain({ limits: limits(1, 1) });
  await graph.replayChain({ limits: limits(1, 1), onTokens() {} });
  expect(given).toEqual([undefined, expect.any(Function)]);
});

test('reports that come twice, out of order, late, or of too many replays', async () => {
  const { heard, onTokens, end } = listener();
  let late = (_done: number): void => {};
  const graph = await captured(async (chain, io, rows, stops, dirty, control, onReplays) => {
    late = onReplays!;
    const strange = (done: number) => [done, done - 1, done].forEach(onReplays!);
    return reporting(chain, io, rows, stops, dirty, control, strange);
  });
  await end(graph.replayChain({ limits: limits(1, 2), onTokens }));
  late(most);
  expect(heard).toEqual([[0, 10, 11], [1, -1, 21], 'end']);
  const beyond = listener();
  const wild = await captured(async (chain, io, rows, ...more) => {
    const replays = await silent(chain, io, rows, ...more);
    more[3]!(1000);
    return replays;
  });
  await beyond.end(wild.replayChain({ limits: limits(most, most), onTokens: beyond.onTokens }));
  expect(beyond.heard).toHaveLength(most + 1);
});

test('a chain that fails tells what it reported, and rejects with its own error', async () => {
  const { heard, onTokens, end } = listener();
  const graph = await captured(async (chain, _io, rows, _stops, _dirty, _control, onReplays) => {
    compute(chain, 1, rows);
    onReplays!(1);
    throw new BackendError('DEVICE_FAILED', 'the cable is out');
  });
  await end(graph.replayChain({ limits: limits(3, 3), onTokens }));
  expect(heard).toEqual([[0, 10, 11], 'DEVICE_FAILED']);
});

test('the replay that sets a flag is not told', async () => {
  const { heard, onTokens, end } = listener();
  let replays = 0;
  const graph = await captured(undefined, ({ fault, outputs }) => {
    replays++;
    new Int32Array(outputs).set([10 * replays, 10 * replays + 1]);
    if (replays === 2) fault.set([1, faultCodes.OUT_OF_RANGE]);
  });
  await end(graph.replayChain({ limits: limits(3, 3), onTokens }));
  expect(heard).toEqual([[0, 10, 11], 'OUT_OF_RANGE']);
});

test('a listener of a chain whose signal has been aborted is not called', async () => {
  const { heard, onTokens, end } = listener();
  const graph = await captured(reporting);
  await end(graph.replayChain({ limits: limits(3, 3), signal: AbortSignal.abort(), onTokens }));
  expect(heard).toEqual(['ABORTED']);
});
