// A process that keeps every core busy, for measuring engines on a loaded machine.
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';

const file = fileURLToPath(import.meta.url);

/** Starts the process; `end` stops it. */
export async function keepBusy() {
  const child = fork(file, ['spin']);
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', () => reject(new Error('the process that keeps the cores busy ended')));
  });
  return {
    end: () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.kill('SIGKILL');
      }),
  };
}

function spin() {
  for (let x = 1; x !== 0; ) x = (x * 1664525 + 1013904223) % 4294967296 || 1;
}

if (!isMainThread) spin();
else if (process.argv[2] === 'spin') {
  const workers = Array.from({ length: availableParallelism() }, () => new Worker(file));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('online', resolve))));
  process.on('disconnect', () => process.exit(0));
  process.send('busy');
}
