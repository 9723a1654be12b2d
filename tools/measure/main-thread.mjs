import { readFileSync } from 'node:fs';

/**
 * Milliseconds of processor time of the thread that runs JavaScript, from the kernel's scheduler (Linux). It counts all that
 * this thread does (JavaScript, garbage collection, libuv, the addon's own calls) and nothing that other threads do.
 */
export function mainThreadMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return undefined;
  }
}
