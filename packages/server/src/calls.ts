import type { Call, WaitForm } from './context.js';
import { ApiError, shutsDown, toApiError } from './errors.js';
import type { Paths } from './paths.js';
import type { ModelLease } from './pool/pool.js';
import type { IgnoredFields } from './requests/ignored-fields.js';

/** A call as the handler sees it. */
export interface RoutedCall extends Call {
  /** Names of fields that are ignored, the first ones. */
  readonly ignored: readonly string[];
  /** Aborts the call after `ms` milliseconds. */
  limit(ms: number): void;
  /** Resolves where the call waits for a model for longer than `keepAliveMs`. */
  readonly longWait: Promise<WaitForm>;
  /** The route has returned a response: one without a stream has ended. */
  answered(): void;
}

/** What holds for every call. */
export interface CallRules extends Pick<Call, 'strict' | 'keepAliveMs'> {
  readonly requestMs: number;
  readonly paths: Paths;
  readonly ignored: IgnoredFields;
}

/** Counts the requests under way. */
export class Calls {
  private readonly running = new Set<RoutedCall>();
  private readonly draining = new AbortController();
  private ended = (): void => {};

  constructor(
    private readonly most: number,
    private readonly rules: CallRules,
  ) {}

  get count(): number {
    return this.running.size;
  }

  /** Whether new requests are taken. */
  get isReady(): boolean {
    return !this.draining.signal.aborted;
  }

  /** Aborts where no more requests are taken. */
  get closing(): AbortSignal {
    return this.draining.signal;
  }

  /**
   * A call whose body has not come: it does not count yet.
   * @param client aborts where the client is gone
   * @param onEnd called once, when the response has been sent
   * @param input the field of the request with the prompt or the texts, for errors
   */
  open(id: string, client: AbortSignal, onEnd: (call: Call) => void, input?: string): RoutedCall {
    const ended = () => {
      this.end(call);
      onEnd(call);
    };
    const call: OneCall = new OneCall(id, client, this.rules, ended, input);
    return call;
  }

  /** From now on the call counts, and has `requestMs`. @throws ApiError 429, 503 */
  begin(call: RoutedCall): void {
    this.needReady();
    if (this.running.size >= this.most)
      throw new ApiError(
        429,
        `the server works on ${this.most} ${this.most === 1 ? 'request' : 'requests'} already`,
        null,
        'too_many_requests',
      );
    this.running.add(call);
    call.limit(this.rules.requestMs);
  }

  /** @throws ApiError 503 */
  needReady(): void {
    if (!this.isReady) throw shutsDown();
  }

  /** Takes no more requests, and waits for those under way; after `ms` milliseconds they are aborted. */
  async drain(ms: number): Promise<void> {
    this.draining.abort();
    if (this.running.size === 0) return;
    const empty = new Promise<void>((resolve) => {
      this.ended = resolve;
    });
    const timer = setTimeout(() => {
      for (const call of this.running) call.abort();
    }, ms);
    await empty;
    clearTimeout(timer);
  }

  private end(call: RoutedCall): void {
    this.running.delete(call);
    if (this.running.size === 0) this.ended();
  }
}

/** Most names of ignored fields that a response's header has. */
const maxIgnored = 20;

class OneCall implements RoutedCall {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private limitMs = 0;
  private isLate = false;
  private hasEnded = false;
  private announceWait!: (form: WaitForm) => void;
  private readonly leases: ModelLease[] = [];
  private isStream = false;
  failure: unknown;
  readonly longWait = new Promise<WaitForm>((resolve) => {
    this.announceWait = resolve;
  });
  readonly notices = new Set<string>();
  ignored: readonly string[] = [];

  constructor(
    readonly id: string,
    private readonly client: AbortSignal,
    private readonly rules: CallRules,
    private readonly onEnd: () => void,
    private readonly input: string | undefined,
  ) {
    client.addEventListener('abort', this.abort);
    if (client.aborted) this.abort();
  }

  limit(ms: number): void {
    this.limitMs = ms;
    this.timer = setTimeout(() => {
      this.isLate = true;
      this.abort();
    }, ms);
  }

  async waitFor<T>(work: Promise<T>, form: WaitForm): Promise<T> {
    clearTimeout(this.timer);
    const { keepAliveMs } = this;
    const sign = keepAliveMs > 0 ? setTimeout(() => this.announceWait(form), keepAliveMs) : undefined;
    try {
      return await work;
    } finally {
      clearTimeout(sign);
      if (!this.hasEnded) this.limit(this.limitMs);
    }
  }

  /** A call that has ended meanwhile needs no model. */
  hold(lease: ModelLease): void {
    if (this.hasEnded) lease.release();
    else this.leases.push(lease);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get keepAliveMs(): number {
    return this.rules.keepAliveMs;
  }

  get strict(): boolean {
    return this.rules.strict;
  }

  explain(error: unknown): ApiError {
    this.failure = error;
    if (!this.isLate) return toApiError(error, this.rules.paths, this.input);
    return new ApiError(504, 'the request took longer than the server allows', null, 'timeout');
  }

  readonly notice = (text: string): void => void this.notices.add(text);

  ignore(fields: readonly string[]): void {
    this.rules.ignored.count(fields, this.id);
    this.ignored = [...this.ignored, ...fields].slice(0, maxIgnored);
  }

  readonly abort = (): void => this.controller.abort();

  streams(): void {
    this.isStream = true;
  }

  /** The route has returned. */
  answered(): void {
    if (!this.isStream) this.end();
  }

  readonly end = (): void => {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.timer);
    for (const lease of this.leases) lease.release();
    this.client.removeEventListener('abort', this.abort);
    this.onEnd();
  };
}
