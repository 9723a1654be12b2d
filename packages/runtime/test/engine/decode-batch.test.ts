import type { KvSequence } from '@quern/core';
import { DecodeBatch, mostDecodeRows } from '../../src/engine/decode-batch.js';
import type { ForwardSteps, StepRows } from '../../src/engine/forward-steps.js';
import { greedy } from '../../src/engine/token-choice.js';

const sequence = { length: 0, append() {}, truncate() {} } as Pick<
  KvSequence,
  'length' | 'append' | 'truncate'
> as KvSequence;

/** Asks for one token. */
const ask = async (batch: DecodeBatch, token: number) =>
  (
    await batch.next({
      sequence,
      token,
      choice: greedy,
      most: 1,
      stops: new Int32Array(0),
      signal: undefined,
    })
  )[0];

/** A device that takes a turn per step and answers with each row's own token. */
function fakeSteps() {
  const steps: number[][] = [];
  return {
    steps,
    canDraw: true,
    canChain: true,
    run: (async (rows, _head, take) => {
      const tokens = rows.flatMap((row: StepRows) => row.tokens);
      steps.push(tokens);
      await new Promise((resolve) => setImmediate(resolve));
      return take(tokens.map((token) => ({ best: Int32Array.of(token), logits: undefined })));
    }) satisfies ForwardSteps['run'],
    chain: () => Promise.reject(new Error('one token is no chain')),
  };
}

test('more than a step takes have equal turns', async () => {
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

test('who asks in the same turn, however late in it, is in the step', async () => {
  const device = fakeSteps();
  const batch = new DecodeBatch(device);
  const later = async (token: number, delays: number) => {
    for (let i = 0; i < delays; i++) await undefined;
    return ask(batch, token);
  };
  await Promise.all([later(1, 0), later(2, 7), later(3, 100)]);
  expect(device.steps).toEqual([[1, 2, 3]]);
});

test('who asks while a step runs is in the next', async () => {
  const device = fakeSteps();
  const batch = new DecodeBatch(device);
  const first = ask(batch, 1);
  await new Promise((resolve) => process.nextTick(resolve));
  const others = [2, 3].map((token) => ask(batch, token));
  await Promise.all([first, ...others]);
  expect(device.steps).toEqual([[1], [2, 3]]);
});
