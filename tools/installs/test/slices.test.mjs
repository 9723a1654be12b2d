// The slices of the ways to install: nothing is left out, and each takes about as long.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, test } from 'node:test';
import { cases, casesOf, sliceOf } from '../cases.mjs';
import { secondsOf, sliceCount, slicesOf } from '../slices.mjs';
import { work } from '../work.mjs';

after(() => rmSync(work, { recursive: true }));
const slices = Array.from({ length: sliceCount }, (_, number) => sliceOf(number));

test('every case is in one slice, or in all where it always runs', () => {
  for (const each of cases) {
    const holding = slices.filter((slice) => slice.includes(each)).length;
    assert.equal(holding, each.always ? sliceCount : 1, each.name);
  }
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length);
});

test('every case has its seconds, and no slice takes a fifth more than another', () => {
  assert.deepEqual(
    cases.filter(({ seconds }) => !(seconds > 0)),
    [],
  );
  const seconds = slices.map(secondsOf);
  assert.ok(Math.max(...seconds) <= 1.2 * Math.min(...seconds), seconds.join(', '));
});

test('the longest cases go first; a slice keeps the order of the list', () => {
  const all = [1, 5, 2, 4, 3].map((seconds) => ({ name: String(seconds), seconds }));
  const names = slicesOf(all, 2).map((slice) => slice.map(({ name }) => name).join(''));
  assert.deepEqual(names, ['152', '43']);
});

test('runtimes are fetched in few slices: a fetch counts once in each', () => {
  const all = [20, 9, 8, 7].map((seconds) => ({ seconds, runtimes: seconds < 20 }));
  const [first, second] = slicesOf(all, 2);
  assert.deepEqual([first.length, second.length], [1, 3]);
  assert.deepEqual([secondsOf(first), secondsOf(second)], [20, 39]);
  assert.equal(slices.filter((slice) => slice.some(({ runtimes }) => runtimes)).length < sliceCount, true);
});

test('cases by name or by part; other names and numbers are refused', () => {
  assert.deepEqual(
    casesOf(['electron/refusal', 'doctor']).map(({ name }) => name),
    ['electron/refusal', 'doctor/old-processor', 'doctor/binaries'],
  );
  assert.throws(() => casesOf(['electron', 'elec']), /^Error: no case elec; there are managers\/npm, /);
  for (const number of [-1, sliceCount, Number.NaN])
    assert.throws(() => sliceOf(number), /^Error: no slice .*; there are 0 to 3$/);
});
