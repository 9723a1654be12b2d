// What a thread of EncodePool runs: jobs come one at a time, and each is answered.
import { parentPort } from 'node:worker_threads';
import { FileError } from '../error.js';
import { type EncodeJob, runEncodeJob } from './encode-job.js';
import type { EncodeAnswer } from './encode-pool.js';

const port = parentPort!;

port.on('message', (job: EncodeJob) => {
  const answer = answerTo(job);
  port.postMessage(answer, 'bytes' in answer ? [answer.bytes.buffer] : []);
});

/** Errors lose their class and code between threads, so their parts are sent. */
function answerTo(job: EncodeJob): EncodeAnswer {
  try {
    return runEncodeJob(job);
  } catch (error) {
    const { message } = error as Error;
    if (!(error instanceof FileError)) return { message };
    return { message: message.slice(error.path.length + 2), file: { code: error.code, path: error.path } };
  }
}
