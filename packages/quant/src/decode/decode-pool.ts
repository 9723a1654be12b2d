import { WorkerPool, type WorkerPoolOptions } from '../threads/worker-pool.js';
import { decodeWorker } from '../worker-path.js';
import type { DecodeJob } from './decode-job.js';

/**
 * Threads that decode pieces of tensors. They do not write to where the pieces belong: memory that threads have seen is only freed when
 * each of them next collects garbage, which is late, for they make little.
 */
export class DecodePool {
  private readonly pool: WorkerPool<DecodeJob, Uint8Array | undefined>;

  /** Throws what `aborted` gives; FileError NOT_FOUND where the threads' file is missing. */
  constructor(options: WorkerPoolOptions) {
    this.pool = new WorkerPool(decodeWorker(), options);
  }

  /** Fills `into`, of the job's length; false where the bytes have no such form (see `decodePiece`). Rejects as WorkerPool does. */
  decode(job: DecodeJob, into: Uint8Array): Promise<boolean> {
    return this.pool.run(job, (decoded) => {
      if (decoded) into.set(decoded);
      return decoded !== undefined;
    });
  }

  /** Ends the threads, also in the middle of a job. */
  dispose(): Promise<void> {
    return this.pool.dispose();
  }
}
