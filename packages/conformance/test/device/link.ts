import { Worker } from 'node:worker_threads';
import { BackendError, type BackendErrorCode } from '@quern/core';
import type { Answer, Request, Told } from './protocol.js';
import { deviceScript } from './script.js';

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  onTold(told: Told): void;
  /** Somebody waits for the answer. */
  readonly wanted: boolean;
}

/** Threads of closed devices: a new one takes 0.4 s of a processor, and the kit opens hundreds of devices. */
const spare: Worker[] = [];
// Jest's processes outlive a file of tests; tools that measure have no Jest.
if (typeof afterAll === 'function')
  afterAll(async () => {
    await Promise.all(spare.splice(0).map((worker) => worker.terminate()));
  });

/** The host's end of the device: requests go out in their order, answers come back in it. */
export class Link {
  private readonly waiting = new Map<number, Waiting>();
  private ticket = 0;
  private lost: BackendError | undefined;
  private closed = false;

  private constructor(
    private readonly worker: Worker,
    /** The device ends in the middle of a plan once word 0 is 1; word 1 counts the plans that it has begun. */
    private readonly state: Int32Array,
  ) {
    worker.unref();
    worker.on('message', (answer: Answer) => this.settle(answer));
    worker.on('error', (error) => this.lose(error.message));
    worker.on('exit', () => this.lose('its thread has ended'));
  }

  static async open(pace: number): Promise<Link> {
    const script = await deviceScript();
    const state = new Int32Array(new SharedArrayBuffer(8));
    const link = new Link(spare.pop() ?? new Worker(script, { eval: true }), state);
    link.tell({ kind: 'open', state, pace });
    return link;
  }

  /**
   * Answers with what the device does; the request's bytes are copied before the call returns. `onTold`: for each replay of
   * a chain, in an event of its own.
   */
  ask<Result>(request: Request, onTold: Waiting['onTold'] = () => {}, wanted = true): Promise<Result> {
    if (this.lost) return Promise.reject(this.lost);
    const ticket = this.ticket++;
    if (this.waiting.size === 0) this.worker.ref();
    return new Promise<Result>((resolve, reject) => {
      this.waiting.set(ticket, { resolve: resolve as Waiting['resolve'], reject, onTold, wanted });
      this.worker.postMessage([ticket, request]);
    });
  }

  /** For what nobody waits for. */
  tell(request: Request): void {
    this.ask(request, undefined, false).catch(() => {});
  }

  /** From now on the device fails in the middle of its next plan. */
  break(): void {
    this.state[0] = 1;
  }

  /** Plans that the device has begun. */
  get begun(): number {
    return Atomics.load(this.state, 1);
  }

  /** The thread serves the next device, unless somebody waits for it or it is to fail. */
  close(): void {
    const isBusy = [...this.waiting.values()].some(({ wanted }) => wanted);
    if (this.lost || isBusy || this.state[0] === 1) return void this.worker.terminate();
    this.closed = true;
    this.passOn();
  }

  /** Once what nobody waits for is done too. */
  private passOn(): void {
    if (this.waiting.size > 0) return;
    for (const event of ['message', 'error', 'exit']) this.worker.removeAllListeners(event); // Node has others
    this.lost = new BackendError('DISPOSED', 'the test device is closed');
    spare.push(this.worker);
  }

  private settle(answer: Answer): void {
    const waiting = this.waiting.get(answer.ticket)!;
    if ('told' in answer) waiting.onTold(answer.told);
    else this.end(answer, waiting);
  }

  private end(answer: Exclude<Answer, { readonly told: Told }>, { resolve, reject }: Waiting): void {
    this.forget(answer.ticket);
    if ('result' in answer) resolve(answer.result);
    else reject(new BackendError(answer.code as BackendErrorCode, answer.message));
  }

  private lose(why: string): void {
    this.lost ??= new BackendError('DEVICE_FAILED', `the test device is lost: ${why}; open it anew`);
    for (const [ticket, { reject }] of [...this.waiting]) {
      this.forget(ticket);
      reject(this.lost);
    }
  }

  private forget(ticket: number): void {
    this.waiting.delete(ticket);
    if (this.waiting.size > 0) return;
    this.worker.unref();
    if (this.closed && !this.lost) this.passOn();
  }
}
