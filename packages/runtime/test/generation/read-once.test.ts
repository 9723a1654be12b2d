// Errors of results: Jest fails a test with an unhandled rejection. That a result which nobody awaits is one: tools/packed.
import { setTimeout } from 'node:timers/promises';
import { RuntimeError, type RuntimeErrorCode } from '../../src/error.js';
import { type Production, ReadOnce } from '../../src/read-once.js';

class Failing extends ReadOnce<string, string> {
  constructor(code: RuntimeErrorCode) {
    const fail = async () => {
      throw new RuntimeError(code, 'a fault');
    };
    super((): Production<string, string> => ({ next: fail, close() {}, result: () => '' }), '', 'read once');
  }
}

test('a reader that leaves ends the piece that it waits for', async () => {
  const ends: (() => void)[] = [];
  const production: Production<string, string> = {
    next: () => new Promise((resolve) => ends.push(() => resolve(undefined))),
    cancel: () => ends.at(-1)!(),
    close() {},
    result: () => 'so far',
  };
  class Waiting extends ReadOnce<string, string> {
    constructor() {
      super(() => production, '', 'read once');
    }
  }
  const waiting = new Waiting();
  const reader = waiting[Symbol.asyncIterator]();
  const piece = reader.next();
  await later();
  expect(await reader.return?.()).toEqual({ done: true, value: undefined });
  expect((await piece).done).toBe(true);
  expect(await waiting.result).toBe('so far');
});

test('a reader that leaves while the work begins computes no piece', async () => {
  let begin = (_: Production<string, string>): void => {};
  let pieces = 0;
  const production: Production<string, string> = {
    next: async () => `piece ${++pieces}`,
    close() {},
    result: () => 'nothing yet',
  };
  class Starting extends ReadOnce<string, string> {
    constructor() {
      const begun = new Promise<Production<string, string>>((resolve) => {
        begin = resolve;
      });
      super(() => begun, '', 'read once');
    }
  }
  const reading = new Starting();
  const reader = reading[Symbol.asyncIterator]();
  const [piece, end] = [reader.next(), reader.return?.()];
  begin(production);
  expect([(await piece).done, (await end)?.done, pieces]).toEqual([true, true, 0]);
  expect(await reading.result).toBe('nothing yet');
});

/** Unhandled rejections are told after the turn in which the promise rejects. */
const later = () => setTimeout(20);
const fault = expect.objectContaining({ code: 'BAD_GRAMMAR' });

test('a result beside a loop is no unhandled rejection: the loop gets the error', async () => {
  const looped = new Failing('BAD_GRAMMAR');
  void looped.result;
  const loop = async () => {
    for await (const _ of looped);
  };
  await expect(loop()).rejects.toEqual(fault);
  await later();
  await expect(looped.result).rejects.toEqual(fault);
});

test.each(['ABORTED', 'DISPOSED'] as const)('%s crashes no program that does not look', async (code) => {
  const failing = new Failing(code);
  void failing.result;
  await later();
  await expect(failing.result).rejects.toMatchObject({ code });
});
