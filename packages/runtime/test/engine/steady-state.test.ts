// A decoded token costs the compute threads no read of a file: not the free memory, not the model's file.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { loadModel } from '../../src/index.js';
import { hasCpu } from '../backends.js';
import { writeTinyModel } from '../tiny-model.js';

const tasks = '/proc/self/task';
const isCounted = hasCpu && existsSync('/proc/self/io');
if (!isCounted) console.warn('the test of reads is skipped: it needs backend-cpu and /proc/self/io');

/** Calls of read by the compute threads since they began. */
function reads(): number {
  const ofTask = (task: string, file: string) => readFileSync(`${tasks}/${task}/${file}`, 'utf8');
  const compute = readdirSync(tasks).filter((task) => ofTask(task, 'comm').startsWith('quern-cpu-'));
  const counts = compute.map((task) => Number(/syscr: (\d+)/.exec(ofTask(task, 'io'))![1]));
  return counts.reduce((sum, count) => sum + count, 0);
}

(isCounted ? test : test.skip)('the compute threads read no file while they decode', async () => {
  const { createBackend } = await import('@quern/backend-cpu');
  using backend = await createBackend({ threads: 2 });
  using model = await loadModel(await writeTinyModel(), { backend });
  const story = model.generate([1, 5, 9], { temperature: 0, maxTokens: 64, ignoreEos: true });
  const atPieces: number[] = [];
  for await (const _ of story) atPieces.push(reads());
  expect(atPieces[0]).toBeGreaterThan(0); // the load reads
  expect(atPieces.at(-1)).toBe(atPieces[0]);
  expect((await story.result).tokens).toHaveLength(64);
});
