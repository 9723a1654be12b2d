// What a thread of EncodePool runs.
import { serve } from '../threads/serve.js';
import { runEncodeJob } from './encode-job.js';

serve(runEncodeJob, ({ bytes }) => [bytes.buffer]);
