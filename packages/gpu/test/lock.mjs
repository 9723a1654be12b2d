// A folder as a lock among processes. `process` in it has the holder's process id, `log` the output of its work.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The longest time that a holder may write nothing: it compiles one large file on a busy machine. */
const longestSilence = 30 * 60_000;

const pauseBriefly = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);

/** Whether this process made the folder. */
function makes(folder) {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/** The result of `read`, or undefined where the holder has just written nothing or left. */
function present(read) {
  try {
    return read();
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  }
}

const holderOf = (lock) => present(() => Number(readFileSync(join(lock, 'process'), 'utf8')));
const outputBytes = (lock) => present(() => statSync(join(lock, 'log')).size);

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

function acquire(lock, { now, pause }) {
  let [last, since] = ['', now()];
  while (!makes(lock)) {
    const holder = holderOf(lock);
    if (holder && !isRunning(holder)) rmSync(lock, { recursive: true, force: true });
    const state = `${holder} ${outputBytes(lock)}`;
    if (state !== last) [last, since] = [state, now()];
    const minutes = Math.round((now() - since) / 60_000);
    if (now() - since > longestSilence)
      throw new Error(
        `${lock}: process ${holder ?? '(unknown)'} holds it and has written nothing for ${minutes} minutes; end that process, then remove the folder`,
      );
    pause();
  }
}

/**
 * Runs `act(log)` while no other process holds the lock; `log`: the path for the output of the work. Waits while the holder runs and
 * writes. `clock`: for tests.
 * @throws Error with the holder's process id if the holder writes nothing for half an hour
 */
export function withLock(lock, act, clock = { now: Date.now, pause: pauseBriefly }) {
  acquire(lock, clock);
  try {
    writeFileSync(join(lock, 'process'), String(process.pid));
    act(join(lock, 'log'));
  } finally {
    rmSync(lock, { recursive: true });
  }
}
