import type { KvSequence } from '@quern/core';
import { DecodeBatch, mostDecodeRows } from '../../src/engine/decode-batch.js';
import type { DecodeRequest } from '../../src/engine/decode-member.js';
import type { ForwardSteps } from '../../src/engine/forward-steps.js';
import { longestChain } from '../../src/engine/longest-chain.js';
import { greedy, tokenChoice } from '../../src/engine/token-choice.js';

/** A fake sequence that counts its tokens. */
function sequenceOf(): KvSequence {
  const sequence = {
    length: 0,
    append(count: number) {
      sequence.length += count;
    },
    truncate(length: number) {
      sequence.length = length;
    },
  };
  return sequence as Pick<KvSequence, 'length' | 'append' | 'truncate'> as KvSequence;
}

/** Requests the tokens after `token`. */
const askFor = (batch: DecodeBatch, token: number, options: Partial<DecodeRequest> = {}) =>
  batch.next({
    sequence: sequenceOf(),
    token,
    choice: greedy,
    most: 1,
    stops: new Int32Array(0),
    signal: undefined,
    ...options,
  });

const ask = async (batch: DecodeBatch, token: number) => (await askFor(batch, token))[0];

function withResolvers() {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * A fake device: one turn of the event loop per step. A step returns each row's own token; a chain, the token plus the
 * step's number. Every step calls `duringStep`.
 */
function fakeSteps(canChain = false) {
  const steps: number[][] = [];
  const chains: number[] = [];
  const device = {
    steps,
    /** Number of steps of each chain. */
    chains,
    duringStep: (_step: number): void => {},
    canDraw: true,
    canChain,
    run: (async (rows, _head, take) => {
      const tokens = rows.flatMap((row) => row.tokens);
      steps.push(tokens);
      await nextTurn();
      device.duringStep(steps.length);
      return take(tokens.map((token) => ({ best: Int32Array.of(token), logits: undefined })));
    }) satisfies ForwardSteps['run'],
    chain: (async (rows, { limits, signal }) => {
      const tokens = rows.flatMap((row) => row.tokens);
      const found = tokens.map((): number[] => []);
      const goesOn = tokens.map(() => true);
      for (let step = 1; goesOn.includes(true); step++) {
        await nextTurn();
        device.duringStep(step);
        signal?.throwIfAborted();
        for (const [s, row] of found.entries()) {
          if (goesOn[s]) row.push(tokens[s]! + step);
          goesOn[s] &&= row.length < limits[s]!;
        }
      }
      chains.push(Math.max(...found.map(({ length }) => length)));
      return found.map((row) => Int32Array.from(row));
    }) satisfies ForwardSteps['chain'],
  };
  return device;
}

test('more rows than a step takes: equal turns', async () => {
  const device = fakeSteps();
  const batch = new DecodeBatch(device);
  const callers = Array.from({ length: 2 * mostDecodeRows + 5 }, (_, i) => i);
  const taken = callers.map(() => 0);
  const spread: number[] = [];
  await Promise.all(
    callers.map(async (caller) => {
      while (taken[caller]! < 10) {
        expect(await ask(batch, caller)).toBe(caller);
        taken[caller]!++;
        spread.push(Math.max(...taken) - Math.min(...taken));
      }
    }),
  );
  expect(Math.max(...spread)).toBe(1);
  expect(Math.max(...device.steps.map((rows) => rows.length))).toBe(mostDecodeRows);
});

test('all requests of one event-loop turn share a step', async () => {
  const device = fakeSteps();
  const batch = new DecodeBatch(device);
  const later = async (token: number, delays: number) => {
    for (let i = 0; i < delays; i++) await undefined;
    return ask(batch, token);
  };
  await Promise.all([later(1, 0), later(2, 7), later(3, 100)]);
  expect(device.steps).toEqual([[1, 2, 3]]);
});

test('a request during a step is in the next step', async () => {
  const device = fakeSteps();
  const batch = new DecodeBatch(device);
  const first = ask(batch, 1);
  await new Promise((resolve) => process.nextTick(resolve));
  const others = [2, 3].map((token) => ask(batch, token));
  await Promise.all([first, ...others]);
  expect(device.steps).toEqual([[1], [2, 3]]);
});

describe('chains', () => {
  const most = 2 * longestChain;

  /** A batch that has timed steps of `rows` rows at `milliseconds` each. */
  async function timed(rows: number, milliseconds = 0) {
    const device = fakeSteps(true);
    let now = 0;
    const batch = new DecodeBatch(device, () => {
      now += milliseconds;
      return now;
    });
    await Promise.all(Array.from({ length: rows }, (_, i) => askFor(batch, 100 * i, { most })));
    expect(device.steps).toHaveLength(1); // unknown cost: one step
    device.steps.length = 0;
    return { device, batch };
  }

  test('hold all concurrent rows, and last as long as the longest request', async () => {
    const { device, batch } = await timed(3);
    const sequences = [sequenceOf(), sequenceOf(), sequenceOf()];
    const found = await Promise.all(
      sequences.map((sequence, i) => askFor(batch, 100 * i, { sequence, most: most - i })),
    );
    expect(device.chains).toEqual([longestChain]);
    expect(found.map((tokens) => tokens.length)).toEqual([longestChain, longestChain, longestChain]);
    expect(found[2]!.slice(0, 3)).toEqual([201, 202, 203]);
    expect(sequences.map(({ length }) => length)).toEqual([longestChain, longestChain, longestChain]);
    await Promise.all([5, 9, 7].map((some) => askFor(batch, 0, { most: some })));
    expect(device.chains).toEqual([longestChain, 5]);
  });

  test('no longer than JavaScript may sleep, by the last step’s time', async () => {
    const { device, batch } = await timed(2, 20);
    await Promise.all([askFor(batch, 0, { most }), askFor(batch, 0, { most })]);
    expect(device.chains).toEqual([3]); // 60 of 64 ms
  });

  test('end after the current step for another sequence’s request', async () => {
    const { device, batch } = await timed(2);
    let newcomer: Promise<unknown> | undefined;
    device.duringStep = (step) => {
      if (step === 3) newcomer ??= ask(batch, 7);
    };
    const found = await Promise.all([askFor(batch, 0, { most }), askFor(batch, 100, { most })]);
    expect(device.chains).toEqual([3]);
    expect(found.map((tokens) => tokens.length)).toEqual([3, 3]);
    await newcomer;
    expect(device.steps).toEqual([[7]]);
  });

  test('end after the current step for other work of the device; no chain starts before it is done', async () => {
    const { device, batch } = await timed(2);
    const { promise: blocked, resolve: end } = withResolvers();
    let work: Promise<void> | undefined;
    device.duringStep = (step) => {
      if (step === 4) work ??= batch.beside(() => blocked);
    };
    const both = () => Promise.all([askFor(batch, 0, { most }), askFor(batch, 100, { most })]);
    expect((await both())[0]).toHaveLength(4);
    expect((await both())[0]).toHaveLength(1);
    end();
    await work;
    expect((await both())[0]).toHaveLength(longestChain);
  });

  test('end after the current step at an abort; the others go on', async () => {
    const { device, batch } = await timed(2);
    const abort = new AbortController();
    device.duringStep = (step) => {
      if (step === 2) abort.abort();
    };
    const [aborted, other] = [sequenceOf(), sequenceOf()];
    const [one, two] = await Promise.allSettled([
      askFor(batch, 0, { sequence: aborted, most, signal: abort.signal }),
      askFor(batch, 100, { sequence: other, most }),
    ]);
    expect(one).toMatchObject({ reason: { code: 'ABORTED' } });
    expect(two).toEqual({ status: 'fulfilled', value: [101, 102] });
    expect([aborted.length, other.length]).toEqual([0, 2]);
    expect(device.chains).toEqual([2]);
  });

  test('a failed chain leaves all sequences unchanged', async () => {
    const { device, batch } = await timed(2);
    device.duringStep = () => {
      throw new Error('the device is gone');
    };
    const sequences = [sequenceOf(), sequenceOf()];
    const results = await Promise.allSettled(
      sequences.map((sequence) => askFor(batch, 0, { sequence, most })),
    );
    for (const result of results) expect(result).toMatchObject({ reason: { message: 'the device is gone' } });
    expect(sequences.map(({ length }) => length)).toEqual([0, 0]);
  });

  test('no chains if JavaScript samples for a row of the batch', async () => {
    const { device, batch } = await timed(2);
    const choice = { ...tokenChoice({ temperature: 1, presencePenalty: 1 }, 8), take: () => 3 };
    await Promise.all([askFor(batch, 1, { most, choice }), askFor(batch, 2, { most })]);
    expect(device.chains).toEqual([]);
    expect(device.steps).toEqual([[1, 2]]);
  });

  test('no chains for more rows than a step takes', async () => {
    const { device, batch } = await timed(mostDecodeRows);
    await Promise.all(
      Array.from({ length: mostDecodeRows + 1 }, (_, i) => askFor(batch, i, { most: i < 16 ? most : 1 })),
    );
    expect(device.chains).toEqual([]);
    expect(device.steps.map((rows) => rows.length)).toEqual([mostDecodeRows, 1]);
  });
});
