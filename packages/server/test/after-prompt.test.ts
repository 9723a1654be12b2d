// The counts of a prompt before the events of its answer.
import { setImmediate } from 'node:timers/promises';
import { afterPrompt, promptBegin } from '../src/chat/after-prompt.js';

const counts = { promptTokens: 5, cachedTokens: 2 };

test('the counts come as soon as they are known, before the first event', async () => {
  const { counts: known, begin } = promptBegin();
  let go = () => {};
  const events = (async function* () {
    begin(counts);
    await new Promise<void>((resolve) => {
      go = resolve;
    });
    yield 'a';
    yield 'b';
  })();
  const seen = afterPrompt(known, events);
  expect(await seen.next()).toEqual({ done: false, value: { type: 'prompt', ...counts } });
  go();
  expect([await seen.next(), await seen.next()].map(({ value }) => value)).toEqual(['a', 'b']);
  expect((await seen.next()).done).toBe(true);
});

/** A source that fails at once. */
const failing = (message: string): AsyncIterable<string> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error(message)) }),
});

test('what fails before rejects, and what fails later comes behind the counts', async () => {
  const { counts: never } = promptBegin();
  await expect(afterPrompt(never, failing('too long')).next()).rejects.toThrow('too long');
  const { counts: known, begin } = promptBegin();
  begin(counts);
  const seen = afterPrompt(known, failing('broken'));
  expect((await seen.next()).value).toMatchObject(counts);
  await setImmediate(); // its error waits for the reader
  await expect(seen.next()).rejects.toThrow('broken');
});

test('a reader that leaves ends the events', async () => {
  const { counts: known, begin } = promptBegin();
  let ended = false;
  const events = (async function* () {
    try {
      begin(counts);
      yield 'a';
      yield 'b';
    } finally {
      ended = true;
    }
  })();
  for await (const _ of afterPrompt(known, events)) break;
  expect(ended).toBe(true);
});
