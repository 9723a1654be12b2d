// story.mjs in a worker thread.
import { Worker } from 'node:worker_threads';

new Worker(new URL('./story.mjs', import.meta.url));
