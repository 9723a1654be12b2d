import { compileChoices, type Grammar } from '@quern/grammar';
import { SharedCompilation } from '../../src/structured/shared-compilation.js';

/** A compilation that ends when the test says so, or with its abort. */
function held() {
  let done = (_grammar: Grammar): void => {};
  const aborts: string[] = [];
  const shared = new SharedCompilation(
    (signal) =>
      new Promise((resolve, reject) => {
        done = resolve;
        signal.addEventListener('abort', () => {
          aborts.push('aborted');
          reject(new Error('aborted'));
        });
      }),
  );
  return { shared, aborts, done: () => done(compileChoices(['a'])) };
}

test('one abort of two leaves the compiling to the other', async () => {
  const { shared, aborts, done } = held();
  const abort = new AbortController();
  const waits = [shared.wait(abort.signal), shared.wait(new AbortController().signal)];
  abort.abort();
  done();
  for (const grammar of await Promise.all(waits)) expect(grammar.test('a')).toBe(true);
  expect([aborts, shared.isAborted]).toEqual([[], false]);
});

test('the abort of all ends it', async () => {
  const { shared, aborts } = held();
  const each = [new AbortController(), new AbortController()];
  const waits = each.map(({ signal }) => shared.wait(signal));
  for (const abort of each) abort.abort();
  for (const wait of waits) await expect(wait).rejects.toThrow('aborted');
  expect([aborts, shared.isAborted]).toEqual([['aborted'], true]);
});

test('a call without a signal never leaves; an abort behind the end changes nothing', async () => {
  const { shared, aborts, done } = held();
  const abort = new AbortController();
  const waits = [shared.wait(undefined), shared.wait(abort.signal)];
  abort.abort();
  expect(aborts).toEqual([]);
  done();
  await Promise.all(waits);
  const late = new AbortController();
  await shared.wait(late.signal);
  late.abort();
  expect(shared.isAborted).toBe(false);
});
