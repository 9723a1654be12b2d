// The lock of builds of the emulated device (packages/gpu/test/lock.mjs).
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../../gpu/test/lock.mjs';

const folder = mkdtempSync(join(tmpdir(), 'quern-lock-'));
afterAll(() => rmSync(folder, { recursive: true }));
const lock = join(folder, 'lock');
afterEach(() => rmSync(lock, { recursive: true, force: true }));

function held(pid: number) {
  mkdirSync(lock);
  writeFileSync(join(lock, 'process'), String(pid));
}

/** A clock whose pauses last 20 minutes; `onPause`: what others do meanwhile. */
function slowClock(onPause: (count: number) => void = () => {}) {
  let pauses = 0;
  return { now: () => pauses * 20 * 60_000, pause: () => onPause(++pauses) };
}

test('the work has the lock, and leaves none behind, whatever happens', () => {
  withLock(lock, (log) => {
    writeFileSync(log, 'output');
    expect(readdirSync(lock).sort()).toEqual(['log', 'process']);
  });
  expect(existsSync(lock)).toBe(false);
  const fails = () => {
    throw new Error('no compiler');
  };
  expect(() => withLock(lock, fails)).toThrow('no compiler');
  expect(existsSync(lock)).toBe(false);
});

test('the lock of a process that has ended is taken', () => {
  held(spawnSync(process.execPath, ['--version']).pid);
  let worked = false;
  withLock(lock, () => {
    worked = true;
  });
  expect(worked).toBe(true);
});

test('a holder that writes is waited for, however long', () => {
  held(process.pid);
  let pauses = 0;
  const holder = (count: number) => {
    pauses = count;
    if (count < 9) appendFileSync(join(lock, 'log'), 'Building CXX object\n');
    else rmSync(lock, { recursive: true });
  };
  withLock(lock, () => {}, slowClock(holder));
  expect(pauses).toBe(9);
});

test('a holder that writes nothing: an error with its process id', () => {
  held(process.pid);
  expect(() => withLock(lock, () => {}, slowClock())).toThrow(
    `${lock}: process ${process.pid} holds it and has written nothing for 40 minutes; end that process, then remove the folder`,
  );
  expect(existsSync(lock)).toBe(true);
});
