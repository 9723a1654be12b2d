import { parentPort, type TransferListItem } from 'node:worker_threads';
import { type Answer, failureOf } from './answer.js';

/** What a thread of a WorkerPool does: jobs come one at a time, and each is answered. `moved` is what goes over without a copy. */
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
