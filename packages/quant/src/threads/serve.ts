import { parentPort, type TransferListItem } from 'node:worker_threads';
import { type Answer, failureOf } from './answer.js';

/**
 * Work of a WorkerPool thread: takes one job at a time and answers each. `moved` returns the objects to transfer
 * without a copy.
 */
export function serve<Job, Result>(
  run: (job: Job) => Result,
  moved: (result: Result) => TransferListItem[] = () => [],
): void {
  const port = parentPort!;
  port.on('message', (job: Job) => {
    const answer = answerTo(run, job);
    port.postMessage(answer, 'result' in answer ? moved(answer.result) : []);
  });
}

function answerTo<Job, Result>(run: (job: Job) => Result, job: Job): Answer<Result> {
  try {
    return { result: run(job) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}
