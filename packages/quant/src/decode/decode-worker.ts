// The script of a DecodePool thread. All results go to one piece of shared memory: copy them before the next job.
import { serve } from '../threads/serve.js';
import { type DecodeJob, DecodeJobs } from './decode-job.js';

const jobs = new DecodeJobs();
let shared = new SharedArrayBuffer(0);

serve((job: DecodeJob): Uint8Array | undefined => {
  if (shared.byteLength < job.byteLength) shared = new SharedArrayBuffer(job.byteLength);
  const into = new Uint8Array(shared, 0, job.byteLength);
  return jobs.run(job, into) ? into : undefined;
});
