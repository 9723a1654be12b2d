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
