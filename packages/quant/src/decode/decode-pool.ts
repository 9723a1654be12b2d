import { WorkerPool, type WorkerPoolOptions } from '../threads/worker-pool.js';
import { decodeWorker } from '../worker-path.js';
import type { DecodeJob } from './decode-job.js';

/**
 * Threads that decode pieces of tensors. They do not write into the destination memory. Reason: shared memory is freed
 * only after a garbage collection in every thread that has seen it, and these threads collect rarely.
 */
export class DecodePool {
  private readonly pool: WorkerPool<DecodeJob, Uint8Array | undefined>;

  /** Throws the error of `aborted`; FileError NOT_FOUND if the threads' script is missing. */
  constructor(options: WorkerPoolOptions) {
    this.pool = new WorkerPool(decodeWorker(), options);
  }

  /**
   * Fills `into`; its length must be the job's. false if the bytes have no such form (see `decodePiece`). Rejects as
   * WorkerPool does.
   */
  decode(job: DecodeJob, into: Uint8Array): Promise<boolean> {
    return this.pool.run(job, (decoded) => {
      if (decoded) into.set(decoded);
      return decoded !== undefined;
    });
  }

  /** Ends the threads, even in the middle of a job. */
  dispose(): Promise<void> {
    return this.pool.dispose();
  }
}
