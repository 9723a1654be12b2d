import { Worker } from 'node:worker_threads';
import { type Answer, errorOf } from './answer.js';

interface Task<Job, Result> {
  readonly job: Job;
  readonly received: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface WorkerPoolOptions {
  /** Maximum threads. A thread starts when there is work for it. */
  readonly threads: number;
  readonly signal?: AbortSignal | undefined;
  /** Makes the error of all calls after an abort. */
  aborted(reason: unknown): Error;
  /** Makes the error of all calls after a thread is lost or throws an unexpected error. */
  lost(how: string, cause?: unknown): Error;
}

/** Threads that run the jobs of one script, one job per thread, in call order. */
export class WorkerPool<Job, Result> {
  private readonly workers: Worker[] = [];
  private readonly idle: Worker[] = [];
  private readonly busy = new Map<Worker, Task<Job, Result>>();
  private readonly waiting: Task<Job, Result>[] = [];
  private failure: unknown;
  private readonly onAbort = () => this.fail(this.options.aborted(this.options.signal!.reason));

  /** Throws the error of `aborted`. */
  constructor(
    private readonly script: URL,
    private readonly options: WorkerPoolOptions,
  ) {
    const { signal } = options;
    if (signal?.aborted) throw options.aborted(signal.reason);
    signal?.addEventListener('abort', this.onAbort);
  }

  /**
   * Resolves to the value of `take`, which is called with the result before the thread gets another job. Rejects with
   * FileError, FormatError or BackendError of the job, or with the error of `aborted` or `lost`. After these two, all
   * other calls reject too.
   */
  run<Taken>(job: Job, take: (result: Result) => Taken): Promise<Taken> {
    if (this.failure) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, received: (result) => resolve(take(result)), reject });
      this.next();
    });
  }

  /** Ends the threads, even in the middle of a job. */
  async dispose(): Promise<void> {
    this.options.signal?.removeEventListener('abort', this.onAbort);
    this.fail(this.options.aborted('the threads were disposed of'));
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  private next(): void {
    if (this.waiting.length === 0) return;
    const worker = this.idle.pop() ?? this.start();
    if (!worker) return;
    const task = this.waiting.shift()!;
    this.busy.set(worker, task);
    worker.postMessage(task.job);
  }

  /** Starts another thread, if allowed. */
  private start(): Worker | undefined {
    if (this.workers.length === this.options.threads) return undefined;
    // Not `new Worker(…)`: for a script that varies, Next's Turbopack traces every file of dist/, and fails at the declarations.
    const worker = Reflect.construct(Worker, [this.script]);
    const { lost } = this.options;
    worker.on('message', (answer: Answer<Result>) => this.settle(worker, answer));
    worker.on('error', (cause) => this.fail(lost(`failed: ${cause.message}`, cause)));
    worker.on('exit', (code) => this.fail(lost(`ended by itself (exit ${code})`)));
    this.workers.push(worker);
    return worker;
  }

  private settle(worker: Worker, answer: Answer<Result>): void {
    const task = this.busy.get(worker);
    this.busy.delete(worker);
    this.idle.push(worker);
    if (!task) return;
    try {
      if ('result' in answer) task.received(answer.result);
      else task.reject(errorOf(answer.failure) ?? this.options.lost(`failed: ${answer.failure.message}`));
    } catch (error) {
      task.reject(error); // an error of `take`
    }
    this.next();
  }

  private fail(error: unknown): void {
    this.failure ??= error;
    for (const task of [...this.busy.values(), ...this.waiting.splice(0)]) task.reject(this.failure);
    this.busy.clear();
  }
}
