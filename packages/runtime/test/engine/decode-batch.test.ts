import type { KvSequence } from '@quern/core';
import { DecodeBatch, mostDecodeRows } from '../../src/engine/decode-batch.js';
import type { DecodeRow } from '../../src/engine/decode-graph.js';
import type { TokenChoice } from '../../src/engine/token-choice.js';

const choice: TokenChoice = {
  head: 'argmax',
  take: ({ best }) => best[0]!,
  accept() {},
};
const sequence = {} as KvSequence; // only steps look at it

/** A device that takes a turn per step and answers with each row's own token. */
function fakeSteps() {
  const steps: number[][] = [];
  return {
    steps,
    async run(rows: readonly DecodeRow[]) {
      steps.push(rows.map(({ token }) => token));
      await new Promise((resolve) => setImmediate(resolve));
      return rows.map(({ token }) => ({ best: Int32Array.of(token), logits: undefined }));
    },
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
        expect(await batch.next({ sequence, token: caller }, choice, undefined)).toBe(caller);
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
  const ask = async (token: number, delays: number) => {
    for (let i = 0; i < delays; i++) await undefined;
    return batch.next({ sequence, token }, choice, undefined);
  };
  await Promise.all([ask(1, 0), ask(2, 7), ask(3, 100)]);
  expect(device.steps).toEqual([[1, 2, 3]]);
});

test('who asks while a step runs is in the next', async () => {
  const device = fakeSteps();
  const batch = new DecodeBatch(device);
  const first = batch.next({ sequence, token: 1 }, choice, undefined);
  await new Promise((resolve) => process.nextTick(resolve));
  const others = [2, 3].map((token) => batch.next({ sequence, token }, choice, undefined));
  await Promise.all([first, ...others]);
  expect(device.steps).toEqual([[1], [2, 3]]);
});
