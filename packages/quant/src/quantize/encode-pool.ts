import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { FileError, type FileErrorCode } from '../error.js';
import { encodeWorker } from '../worker-path.js';
import type { EncodedRows, EncodeJob } from './encode-job.js';
import { QuantizeError } from './error.js';

/** What a thread answers: the rows, or what went wrong. */
export type EncodeAnswer = EncodedRows | EncodeFailure;

interface EncodeFailure {
  readonly message: string;
  readonly file?: { readonly code: FileErrorCode; readonly path: string };
}

interface Task {
  readonly job: EncodeJob;
  readonly resolve: (rows: EncodedRows) => void;
  readonly reject: (error: unknown) => void;
}

export interface EncodePoolOptions {
  /** As many as the machine runs at once where absent. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
}

/** Threads that encode rows, each a job at a time, in the order in which they are asked. */
export class EncodePool {
  readonly threads: number;
  private readonly workers: Worker[] = [];
  private readonly idle: Worker[] = [];
  private readonly busy = new Map<Worker, Task>();
  private readonly waiting: Task[] = [];
  private failure: unknown;
  private readonly signal: AbortSignal | undefined;
  private readonly onAbort = () => this.fail(aborted(this.signal!));

  /** @throws QuantizeError BAD_ARGUMENT or ABORTED. */
  constructor({ threads = availableParallelism(), signal }: EncodePoolOptions = {}) {
    if (!Number.isInteger(threads) || threads < 1 || threads > 1024)
      throw new QuantizeError(
        'BAD_ARGUMENT',
        `threads is ${threads}; it must be a whole number from 1 to 1024`,
      );
    this.threads = threads;
    this.signal = signal;
    if (signal?.aborted) throw aborted(signal);
    signal?.addEventListener('abort', this.onAbort);
  }

  /** Rejects with FileError, or with QuantizeError ABORTED or WORKER_FAILED; after these, every other call does so too. */
  run(job: EncodeJob): Promise<EncodedRows> {
    if (this.failure) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, resolve, reject });
      this.next();
    });
  }

  /** Ends the threads, also in the middle of a job. */
  async dispose(): Promise<void> {
    this.signal?.removeEventListener('abort', this.onAbort);
    this.fail(new QuantizeError('ABORTED', 'the threads were disposed of'));
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  private next(): void {
    const worker = this.idle.pop() ?? this.start();
    const task = worker && this.waiting.shift();
    if (!task) {
      if (worker) this.idle.push(worker);
      return;
    }
    this.busy.set(worker, task);
    worker.postMessage(task.job);
  }

  /** Another thread, if there may be one more. */
  private start(): Worker | undefined {
    if (this.workers.length === this.threads) return undefined;
    const worker = new Worker(encodeWorker);
    worker.on('message', (answer: EncodeAnswer) => this.settle(worker, answer));
    worker.on('error', (cause) => this.fail(lost(`failed: ${cause.message}`, cause)));
    worker.on('exit', (code) => this.fail(lost(`ended by itself (exit ${code})`)));
    this.workers.push(worker);
    return worker;
  }

  private settle(worker: Worker, answer: EncodeAnswer): void {
    const task = this.busy.get(worker);
    this.busy.delete(worker);
    this.idle.push(worker);
    if (!task) return;
    if ('bytes' in answer) task.resolve(answer);
    else task.reject(errorFrom(answer));
    this.next();
  }

  private fail(error: unknown): void {
    this.failure ??= error;
    for (const task of [...this.busy.values(), ...this.waiting.splice(0)]) task.reject(this.failure);
    this.busy.clear();
  }
}

const errorFrom = ({ message, file }: EncodeFailure): Error =>
  file ? new FileError(file.code, file.path, message) : new QuantizeError('WORKER_FAILED', message);

const aborted = (signal: AbortSignal) =>
  new QuantizeError('ABORTED', 'quantising was aborted', { cause: signal.reason });

const lost = (how: string, cause?: unknown) =>
  new QuantizeError('WORKER_FAILED', `a thread that encodes weights ${how}`, { cause });
