import { getEventListeners } from 'node:events';
import { onAbort } from '../src/index.js';

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

test('many acts share one listener; it is removed with the last act', () => {
  const { signal } = new AbortController();
  const ends = Array.from({ length: 30 }, () => onAbort(signal, () => {}));
  expect(listeners(signal)).toBe(1);
  for (const end of ends.slice(1)) end();
  expect(listeners(signal)).toBe(1);
  ends[0]!();
  ends[0]!();
  expect(listeners(signal)).toBe(0);
  onAbort(signal, () => {});
  expect(listeners(signal)).toBe(1);
});

test('an abort calls all remaining acts, once each, even if one cancels another', () => {
  const abort = new AbortController();
  const called: string[] = [];
  const same = () => called.push('same');
  onAbort(abort.signal, same);
  onAbort(abort.signal, same);
  onAbort(abort.signal, () => called.push('gone'))();
  onAbort(abort.signal, () => endLast());
  const endLast = onAbort(abort.signal, () => called.push('last'));
  abort.abort();
  expect(called).toEqual(['same', 'same']);
});
