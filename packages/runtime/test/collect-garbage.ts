import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');

/**
 * Collects garbage until `done`, at most `times` times: finalization callbacks run in a later turn of the event loop.
 */
export async function collectGarbage(done: () => boolean, times = 100): Promise<void> {
  for (let i = 0; i < times && !done(); i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
