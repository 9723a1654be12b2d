import { readFileSync } from 'node:fs';

/**
 * CPU milliseconds of the JavaScript thread, from the kernel's scheduler (Linux). Includes everything on this thread
 * (JavaScript, garbage collection, libuv, addon calls), and no other thread.
 */
export function mainThreadMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return undefined;
  }
}
