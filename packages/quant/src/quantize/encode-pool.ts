import { availableParallelism } from 'node:os';
import { WorkerPool } from '../threads/worker-pool.js';
import { encodeWorker } from '../worker-path.js';
import type { EncodedRows, EncodeJob } from './encode-job.js';
import { QuantizeError } from './error.js';

export interface EncodePoolOptions {
  /** Default: the parallelism of the machine. */
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Threads that encode rows. */
export class EncodePool {
  readonly threads: number;
  private readonly pool: WorkerPool<EncodeJob, EncodedRows>;

  /** @throws QuantizeError BAD_ARGUMENT or ABORTED; FileError NOT_FOUND if the threads' script is missing. */
  constructor({ threads = availableParallelism(), signal }: EncodePoolOptions = {}) {
    needThreads(threads);
    this.threads = threads;
    this.pool = new WorkerPool(encodeWorker(), { threads, signal, aborted, lost });
  }

  /**
   * Rejects with FileError, or with QuantizeError ABORTED or WORKER_FAILED. After these two, all other calls reject
   * too.
   */
  run(job: EncodeJob): Promise<EncodedRows> {
    return this.pool.run(job, (rows) => rows);
  }

  /** Ends the threads, even in the middle of a job. */
  dispose(): Promise<void> {
    return this.pool.dispose();
  }
}

function needThreads(threads: number): void {
  if (!Number.isInteger(threads) || threads < 1 || threads > 1024)
    throw new QuantizeError(
      'BAD_ARGUMENT',
      `threads is ${threads}; it must be a whole number from 1 to 1024`,
    );
}

const aborted = (reason: unknown) =>
  new QuantizeError('ABORTED', 'quantising was aborted', { cause: reason });

const lost = (how: string, cause?: unknown) =>
  new QuantizeError('WORKER_FAILED', `a thread that encodes weights ${how}`, { cause });
