// The script of an EncodePool thread.
import { serve } from '../threads/serve.js';
import { runEncodeJob } from './encode-job.js';

serve(runEncodeJob, ({ bytes }) => [bytes.buffer]);
