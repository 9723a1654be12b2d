import { createBackend } from '@quern/backend-reference';
import { type Backend, contiguousKvCache, KvCache } from '@quern/core';
import { type Batch, longestChain } from '../../src/engine/batch.js';
import { BlockManager } from '../../src/engine/block-manager.js';
import { Loop, type LoopOptions } from '../../src/engine/loop.js';
import type { TokensRequest } from '../../src/engine/request.js';
import type { Chain, Runner } from '../../src/engine/runner/runner.js';
import type { SamplingMode } from '../../src/engine/sampling/mode.js';
import { samplingParams } from '../../src/engine/sampling/params.js';
import { noToken } from '../../src/engine/sampling/pipeline.js';
import type { RowOutput } from '../../src/engine/sampling/record.js';
import type { Sequence, SequenceOptions } from '../../src/engine/sequence.js';
import type { Constraint } from '../../src/structured/constraint.js';
import { greedy, idsOf } from './requests.js';

let backend: Backend;
beforeAll(async () => {
  backend = await createBackend();
});
afterAll(() => backend.dispose());

/** Most sequences of a step. */
const mostRows = 16;

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * A fake runner: one turn of the event loop per step. A step returns the last tokens of each sequence; a chain, the
 * token plus the step's number. Every step calls `duringStep`.
 */
function fakeRunner(canChain = false) {
  const steps: number[][] = [];
  const chains: number[] = [];
  const output = (best: readonly number[], mode?: SamplingMode): RowOutput => ({
    best: Int32Array.from(best),
    logits: mode?.kind === 'ranked' ? new Float32Array(8).fill(1, 3, 4) : undefined,
  });
  const step = async (batch: Batch, mode: SamplingMode): Promise<readonly RowOutput[]> => {
    steps.push(batch.flatMap(({ tokens }) => tokens));
    await nextTurn();
    device.duringStep(steps.length);
    return batch.flatMap(({ tokens, outputs }) =>
      outputs === 0 ? [] : tokens.slice(-outputs).map((token) => output([token], mode)),
    );
  };
  const chain = async (
    batch: Batch,
    { limits, onTokens }: Chain,
    signal: AbortSignal | undefined,
  ): Promise<readonly RowOutput[]> => {
    const tokens = batch.flatMap((rows) => rows.tokens);
    const found = tokens.map((): number[] => []);
    const goesOn = tokens.map(() => true);
    for (let step = 1; goesOn.includes(true); step++) {
      await nextTurn();
      device.duringStep(step);
      signal?.throwIfAborted();
      onTokens?.(
        Int32Array.from(tokens, (token, s) => (goesOn[s] ? token + step : noToken)),
        step - 1,
      );
      for (const [s, row] of found.entries()) {
        if (goesOn[s]) row.push(tokens[s]! + step);
        goesOn[s] &&= row.length < limits[s]!;
      }
    }
    chains.push(Math.max(...found.map(({ length }) => length)));
    return found.map((row) => output(row));
  };
  const device = {
    steps,
    /** Number of steps of each chain. */
    chains,
    duringStep: (_step: number): void => {},
    canDraw: true,
    canChain,
    run: (async (batch, take, options) =>
      take(
        options.chain ? await chain(batch, options.chain, options.signal) : await step(batch, options.mode),
      )) satisfies Runner['run'],
  };
  return device;
}

type Device = ReturnType<typeof fakeRunner>;

const shape = { layers: 1, kvHeads: 1, headDim: 8, dtype: 'f32', context: 64 } as const;
const contiguousCache = () => contiguousKvCache(backend, { ...shape, sequences: 64 });

/** A loop over a fake device. `milliseconds`: time of a step, by the loop's clock. */
function scheduling(
  device: Device,
  milliseconds?: number,
  cache = contiguousCache(),
  options: Partial<LoopOptions> = {},
) {
  const blockManager = new BlockManager(cache);
  let time = 0;
  const now = () => {
    time += milliseconds!;
    return time;
  };
  const loop = new Loop({
    runner: device,
    blockManager,
    sequences: mostRows,
    prefillChunk: 64,
    alone: false,
    plansInFlight: 1,
    maxQueue: 100,
    onNotice: undefined,
    ...(milliseconds !== undefined && { now }),
    ...options,
  });
  const lease = () => {
    const made = blockManager.sequence({ reuse: false });
    blockManager.begin(made);
    return made;
  };
  /** Requests the tokens after `token`. */
  const askFor = async (token: number, options: Partial<TokensRequest> = {}) =>
    idsOf(
      await loop.tokens({
        sequence: options.sequence ?? lease(),
        ids: [token],
        sampling: greedy,
        most: 1,
        stops: new Int32Array(0),
        signal: undefined,
        ...options,
      }),
    );
  const ask = async (token: number, options: Partial<TokensRequest> = {}) =>
    (await askFor(token, options))[0];
  return { loop, blockManager, lease, askFor, ask };
}

describe('where blocks are short', () => {
  /** `blocks` blocks of 4 tokens. Later leases yield to earlier ones. */
  const short = (blocks: number) => {
    const cache = KvCache.allocate(backend, { ...shape, context: 8 * blocks }, blocks, 4);
    const { loop, blockManager } = scheduling(fakeRunner(), undefined, cache);
    const lease = (options: SequenceOptions = {}) => blockManager.sequence({ reuse: false, ...options });
    const ask = async (held: Sequence, count: number) =>
      idsOf(
        await loop.tokens({
          sequence: held,
          ids: Array.from({ length: count }, (_, i) => i),
          sampling: greedy,
          most: 1,
          stops: new Int32Array(0),
          signal: undefined,
        }),
      );
    const end = (held: Sequence) => {
      blockManager.release(held);
      loop.wake();
    };
    /** Blocks for its tokens alone, as `Engine.logits` wants them. */
    const start = (held: Sequence) => {
      const rest = { most: 0, stops: new Int32Array(0), signal: undefined };
      return loop.tokens({ sequence: held, ids: [], sampling: undefined, ...rest });
    };
    return { ask, start, end, lease, blockManager };
  };

  test('a call that has blocks goes on with several tokens, though an earlier one waits for blocks', async () => {
    const { ask, end, lease } = short(4);
    const [first, second] = [lease(), lease()];
    await ask(second, 7);
    const waiting = ask(first, 11); // 3 blocks, and one that `second` may need: 2 are free
    expect(await ask(second, 2)).toEqual([1]);
    end(second);
    expect(await waiting).toEqual([10]);
  });

  test('blocks alone are taken from a lower priority', async () => {
    const { ask, start, lease } = short(4);
    const [low, high] = [lease({ priority: -1 }), lease()];
    await ask(low, 15);
    expect(await start(high)).toEqual([]);
    expect([low.started, high.started]).toEqual([false, true]);
  });

  test('blocks alone are given beside a group', async () => {
    const { ask, start, lease } = short(6);
    const [text, other] = [lease({ group: 'g' }), lease()];
    await ask(text, 3);
    const both = Promise.all([ask(text, 1), start(other)]);
    expect(await both).toEqual([[0], []]);
  });

  test('after a refusal the next one starts', async () => {
    const { ask, lease } = short(4);
    const [holder, hasty, small] = [lease(), lease({ maxWaitMs: 0 }), lease()];
    await ask(holder, 7);
    const refused = expect(ask(hasty, 11)).rejects.toMatchObject({ code: 'BUSY' });
    expect(await ask(small, 3)).toEqual([2]);
    await refused;
  });

  test('a request that awaited a prefix, and then blocks, is refused in time', async () => {
    const { ask, lease } = short(9);
    const share = { reuse: true };
    const [first, same, other] = [lease(share), lease({ ...share, maxWaitMs: 50 }), lease()];
    const refused = expect(
      Promise.all([ask(first, 12), ask(same, 16), ask(other, 15)]),
    ).rejects.toMatchObject({ code: 'BUSY' });
    await refused;
  });

  test('a request that awaits a prefix is not refused for want of blocks', async () => {
    const { ask, end, lease } = short(9);
    const share = { reuse: true };
    const [first, same, other] = [lease(share), lease({ ...share, maxWaitMs: 0 }), lease()];
    const [begins, follows, waits] = [ask(first, 12), ask(same, 16), ask(other, 30)];
    expect(await begins).toEqual([11]);
    expect(await follows).toEqual([15]);
    end(first);
    end(same);
    expect(await waits).toEqual([29]);
  });

  test('an error of the scheduler ends all requests, those that were chosen too', async () => {
    const { ask, lease, blockManager } = short(9);
    const leases = [lease(), lease()] as const;
    for (const held of leases) await ask(held, 3);
    const { grow } = blockManager;
    let grown = 0;
    blockManager.grow = (...given) => {
      if (++grown === 2) throw new Error('a fault');
      return grow.apply(blockManager, given);
    };
    const both = await Promise.allSettled(leases.map((held) => ask(held, 1)));
    expect(both).toMatchObject([{ reason: { message: 'a fault' } }, { reason: { message: 'a fault' } }]);
    expect(leases.map(({ steps, tokens, kv }) => [steps, tokens.length, kv.length])).toEqual([
      [0, 3, 3],
      [0, 3, 3],
    ]);
    expect(await ask(leases[0], 2)).toEqual([1]);
  });

  test('a call gives up its blocks: one that waited begins in the same step', async () => {
    const { ask, end, lease } = short(5);
    const [first, second, third] = [lease(), lease(), lease()];
    await ask(second, 7);
    await ask(third, 7);
    const waiting = ask(first, 3); // 1 block, and 2 that the others may need: 1 is free
    const later = ask(third, 6); // 2 blocks
    expect(await waiting).toEqual([2]);
    end(first);
    end(second);
    expect(await later).toEqual([5]);
  });
});

test('more rows than a step takes: equal turns', async () => {
  const device = fakeRunner();
  const { ask, lease } = scheduling(device);
  const callers = Array.from({ length: 2 * mostRows + 5 }, () => lease());
  const taken = callers.map(() => 0);
  const spread: number[] = [];
  await Promise.all(
    callers.map(async (held, caller) => {
      while (taken[caller]! < 10) {
        expect(await ask(caller, { sequence: held })).toBe(caller);
        taken[caller]!++;
        spread.push(Math.max(...taken) - Math.min(...taken));
      }
    }),
  );
  expect(Math.max(...spread)).toBe(1);
  expect(Math.max(...device.steps.map((rows) => rows.length))).toBe(mostRows);
});

test('all requests of one event-loop turn share a step', async () => {
  const device = fakeRunner();
  const { ask } = scheduling(device);
  const later = async (token: number, delays: number) => {
    for (let i = 0; i < delays; i++) await undefined;
    return ask(token);
  };
  await Promise.all([later(1, 0), later(2, 7), later(3, 100)]);
  expect(device.steps).toEqual([[1, 2, 3]]);
});

test('drafts are rows of a shared step, up to its most rows', async () => {
  const device = fakeRunner();
  const { loop, askFor, lease } = scheduling(device);
  const drafting = lease();
  const found = await Promise.all([
    askFor(7),
    askFor(1, { sequence: drafting, ids: [1, 1, 1, 5, 1], drafts: 4 }),
    askFor(8, { ids: [8, ...Array(10).fill(8)], drafts: 10 }), // 17 rows with the others: a step has 16
    askFor(9),
  ]);
  expect(device.steps).toEqual([[7, 1, 1, 1, 5, 1, 9], Array(11).fill(8)]);
  expect(found).toEqual([[7], [1, 1, 1], Array(11).fill(8), [9]]);
  expect(drafting.tokens).toEqual([1, 1, 1]); // without the wrong draft and those after it
  expect(drafting.kv.length).toBe(3);
  expect(loop.chosenTokens).toBe(16);
});

test('more drafts than a step has rows: a step of its own', async () => {
  const device = fakeRunner();
  const { askFor } = scheduling(device);
  const ids = Array(mostRows + 9).fill(3);
  expect(await Promise.all([askFor(2), askFor(3, { ids, drafts: mostRows + 8 })])).toEqual([[2], ids]);
  expect(device.steps).toEqual([[2], ids]);
});

test('a request during a step is in the next step', async () => {
  const device = fakeRunner();
  const { ask } = scheduling(device);
  const first = ask(1);
  await new Promise((resolve) => process.nextTick(resolve));
  const others = [2, 3].map((token) => ask(token));
  await Promise.all([first, ...others]);
  expect(device.steps).toEqual([[1], [2, 3]]);
});

describe('prompts beside decoding', () => {
  const promptOf = (length: number, first = 100) => Array.from({ length }, (_, i) => first + i);

  /** A loop that knows the time of a step with one row, and a lease that decodes. */
  async function decoding(milliseconds: number) {
    const device = fakeRunner();
    const it = scheduling(device, milliseconds);
    const held = it.lease();
    await it.ask(1, { sequence: held });
    device.steps.length = 0;
    return { ...it, device, held };
  }

  test('a long prompt is cut: every step has the row that decodes', async () => {
    const { device, ask, lease, held } = await decoding(40);
    const prompt = ask(0, { sequence: lease(), ids: promptOf(60) });
    let tokens = 0;
    const end = prompt.then(() => {
      tokens = device.steps.length;
    });
    for (let i = 0; i < 12; i++) await ask(7, { sequence: held });
    await end;
    const mixed = device.steps.filter((rows) => rows.length > 1);
    expect(tokens).toBeLessThan(10);
    expect(mixed.length).toBeGreaterThan(6);
    expect(mixed.every((rows) => rows[0] === 7)).toBe(true);
    expect(mixed.flatMap((rows) => rows.slice(1))).toEqual(promptOf(60));
  });

  test('prompts of several calls share a step', async () => {
    const device = fakeRunner();
    const { ask, lease } = scheduling(device);
    const prompts = [promptOf(5), promptOf(7, 200), promptOf(3, 300)];
    const found = await Promise.all(prompts.map((ids) => ask(0, { sequence: lease(), ids })));
    expect(found).toEqual([104, 206, 302]);
    expect(device.steps).toEqual([prompts.flat()]);
  });

  test('an abort ends a prompt though its next step is always under way', async () => {
    const device = fakeRunner();
    const { ask, lease } = scheduling(device, undefined, contiguousCache(), {
      plansInFlight: 2,
      prefillChunk: 8,
    });
    const abort = new AbortController();
    device.duringStep = (step) => step >= 2 && abort.abort();
    const [held, other] = [lease(), lease()];
    const prompt = ask(0, { sequence: held, ids: promptOf(60), signal: abort.signal });
    const next = ask(0, { sequence: other, ids: promptOf(9, 200) });
    await expect(prompt).rejects.toMatchObject({ code: 'ABORTED' });
    expect(held.tokens.length).toBeLessThan(40);
    expect([held.kv.length, held.steps]).toEqual([held.tokens.length, 0]);
    expect(await next).toBe(208);
  });

  test('an aborted prompt keeps its computed tokens; the others go on', async () => {
    const { device, ask, lease, held } = await decoding(10);
    const abort = new AbortController();
    device.duringStep = (step) => step === 2 && abort.abort();
    const long = lease();
    const prompt = ask(0, { sequence: long, ids: promptOf(60), signal: abort.signal });
    prompt.catch(() => {});
    for (let i = 0; i < 5; i++) expect(await ask(i, { sequence: held })).toBe(i);
    await expect(prompt).rejects.toMatchObject({ code: 'ABORTED' });
    expect(long.tokens.length).toBe(device.steps.slice(0, 2).flat().length - 2);
    expect(long.kv.length).toBe(long.tokens.length);
  });
});

describe('chains', () => {
  const most = 2 * longestChain;

  /** A loop that has timed steps of `rows` rows at `milliseconds` each. */
  async function timed(rows: number, milliseconds = 0) {
    const device = fakeRunner(true);
    const it = scheduling(device, milliseconds);
    await Promise.all(Array.from({ length: rows }, (_, i) => it.askFor(100 * i, { most })));
    expect(device.steps).toHaveLength(1); // unknown cost: one step
    device.steps.length = 0;
    return { ...it, device };
  }

  test('hold all concurrent rows, and last as long as the longest request', async () => {
    const { device, askFor, lease } = await timed(3);
    const leases = [lease(), lease(), lease()];
    const found = await Promise.all(
      leases.map((held, i) => askFor(100 * i, { sequence: held, most: most - i })),
    );
    expect(device.chains).toEqual([longestChain]);
    expect(found.map((tokens) => tokens.length)).toEqual([longestChain, longestChain, longestChain]);
    expect(found[2]!.slice(0, 3)).toEqual([201, 202, 203]);
    expect(leases.map(({ tokens }) => tokens)).toEqual(
      found.map((tokens, i) => [100 * i, ...tokens.slice(0, -1)]),
    );
    expect(leases.map(({ kv }) => kv.length)).toEqual([longestChain, longestChain, longestChain]);
    await Promise.all([5, 9, 7].map((some) => askFor(0, { most: some })));
    expect(device.chains).toEqual([longestChain, 5]);
  });

  test('no longer than JavaScript may sleep, by the last step’s time', async () => {
    const { device, askFor } = await timed(2, 20);
    await Promise.all([askFor(0, { most }), askFor(0, { most })]);
    expect(device.chains).toEqual([3]); // 60 of 64 ms
  });

  test('end after the current step for another sequence’s request', async () => {
    const { device, askFor, ask } = await timed(2);
    let newcomer: Promise<unknown> | undefined;
    device.duringStep = (step) => {
      if (step === 3) newcomer ??= ask(7);
    };
    const found = await Promise.all([askFor(0, { most }), askFor(100, { most })]);
    expect(device.chains).toEqual([3]);
    expect(found.map((tokens) => tokens.length)).toEqual([3, 3]);
    await newcomer;
    expect(device.steps).toEqual([[7]]);
  });

  test('end after the current step for other work of the device; no chain starts before it is done', async () => {
    const { device, loop, askFor } = await timed(2);
    let end = (): void => {};
    const blocked = new Promise<void>((resolve) => {
      end = resolve;
    });
    let work: Promise<void> | undefined;
    device.duringStep = (step) => {
      if (step === 4) work ??= loop.beside(() => blocked);
    };
    const both = () => Promise.all([askFor(0, { most }), askFor(100, { most })]);
    expect((await both())[0]).toHaveLength(4);
    expect((await both())[0]).toHaveLength(1);
    end();
    await work;
    expect((await both())[0]).toHaveLength(longestChain);
  });

  test('end after the current step at an abort; the others go on', async () => {
    const { device, askFor, lease } = await timed(2);
    const abort = new AbortController();
    device.duringStep = (step) => {
      if (step === 2) abort.abort();
    };
    const [aborted, other] = [lease(), lease()];
    const [one, two] = await Promise.allSettled([
      askFor(0, { sequence: aborted, most, signal: abort.signal }),
      askFor(100, { sequence: other, most }),
    ]);
    expect(one).toMatchObject({ reason: { code: 'ABORTED' } });
    expect(two).toEqual({ status: 'fulfilled', value: [101, 102] });
    expect([aborted.tokens.length, aborted.kv.length, other.tokens.length]).toEqual([2, 2, 2]);
    expect(device.chains).toEqual([2]);
  });

  test('a failed chain leaves all leases unchanged', async () => {
    const { device, askFor, lease } = await timed(2);
    device.duringStep = () => {
      throw new Error('the device is gone');
    };
    const leases = [lease(), lease()];
    const results = await Promise.allSettled(leases.map((held) => askFor(0, { sequence: held, most })));
    for (const result of results) expect(result).toMatchObject({ reason: { message: 'the device is gone' } });
    expect(leases.map(({ tokens, kv }) => [tokens.length, kv.length])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  /** Two requests of a chain; `onToken` is called for the tokens of the first. */
  async function handed(
    onToken: (token: number) => void,
    duringStep?: (step: number, first: Sequence) => void,
  ) {
    const { device, askFor, lease, loop } = await timed(2);
    const leases = [lease(), lease()] as const;
    device.duringStep = (step) => duringStep?.(step, leases[0]);
    const results = Promise.allSettled([
      askFor(0, { sequence: leases[0], most: 5, onToken: ({ token }) => onToken(token) }),
      askFor(100, { sequence: leases[1], most: 5 }),
    ]);
    return { device, loop, leases, results };
  }

  test('hand over each token while they run, and once', async () => {
    const found: number[] = [];
    const before: number[] = [];
    const { results, leases } = await handed(
      (token) => found.push(token),
      (step) => before.push(step - found.length),
    );
    expect(await results).toMatchObject([{ value: [1, 2, 3, 4, 5] }, { value: [101, 102, 103, 104, 105] }]);
    expect(found).toEqual([1, 2, 3, 4, 5]);
    expect(before).toEqual([1, 1, 1, 1, 1]); // at each step, all tokens of the steps before had been handed over
    expect(leases[0].tokens).toEqual([0, 1, 2, 3, 4]);
  });

  test('a sequence that stops gets no further tokens; the others go on', async () => {
    const found: number[] = [];
    const device = fakeRunner(true);
    const { loop, askFor, lease } = scheduling(device, 0);
    await Promise.all([askFor(0), askFor(0)]);
    const first = lease();
    device.duringStep = (step) => {
      if (step === 2) loop.stop(first);
    };
    const both = await Promise.all([
      askFor(0, { sequence: first, most: 5, onToken: ({ token }) => found.push(token) }),
      askFor(100, { most: 5 }),
    ]);
    expect(both).toEqual([
      [1, 2],
      [101, 102, 103, 104, 105],
    ]);
    expect(found).toEqual([1, 2]);
    expect([first.tokens, first.kv.length]).toEqual([[0, 1], 2]);
    loop.stop(first); // in no chain: nothing happens
  });

  test('a listener that throws ends its request alone', async () => {
    const { results, leases } = await handed((token) => {
      if (token === 3) throw new Error('no more');
    });
    expect(await results).toMatchObject([
      { reason: { message: 'no more' } },
      { value: [101, 102, 103, 104, 105] },
    ]);
    expect(leases[0].kv.length).toBe(leases[0].tokens.length);
  });

  test('no chains if JavaScript samples for a row of the step', async () => {
    const { device, askFor } = await timed(2);
    const sampling = samplingParams({ temperature: 1, presencePenalty: 1 }, 8);
    device.canDraw = false;
    await Promise.all([askFor(1, { most, sampling }), askFor(2, { most })]);
    expect(device.chains).toEqual([]);
    expect(device.steps).toEqual([[1, 2]]);
  });
});

describe('masks that take long', () => {
  const constrained = (masks: Promise<Int32Array | undefined>) => {
    const constraint: Partial<Constraint> = { masksInTurns: () => masks, accept() {} };
    return { ...greedy, constraint: constraint as Constraint };
  };

  test('their request is in no step meanwhile; it joins one when they are there', async () => {
    const device = fakeRunner();
    const { ask } = scheduling(device);
    const { promise, resolve } = deferred<Int32Array | undefined>();
    const late = ask(7, { sampling: constrained(promise) });
    expect(await ask(1)).toBe(1);
    expect(device.steps).toEqual([[1]]);
    resolve(undefined);
    expect(await late).toBe(7);
    expect(device.steps).toEqual([[1], [7]]);
  });

  test('a failure, and an abort, is of their request alone; its lease is as before', async () => {
    const device = fakeRunner();
    const { ask, lease } = scheduling(device);
    const { promise, reject } = deferred<Int32Array | undefined>();
    const abort = new AbortController();
    const leases = [lease(), lease()] as const;
    const sampling = constrained(promise);
    const failed = ask(7, { sequence: leases[0], sampling });
    const aborted = ask(8, { sequence: leases[1], sampling, signal: abort.signal });
    abort.abort();
    reject(new Error('too many states'));
    await expect(failed).rejects.toThrow('too many states');
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await ask(1)).toBe(1);
    expect(device.steps).toEqual([[1]]);
    expect(leases.map(({ tokens }) => tokens)).toEqual([[], []]);
  });
});

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((...ways) => {
    [resolve, reject] = ways;
  });
  return { promise, resolve, reject };
}
