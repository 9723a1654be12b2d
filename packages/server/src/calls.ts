import { randomUUID } from 'node:crypto';
import type { Call } from './context.js';
import { ApiError, toApiError } from './errors.js';
import type { Paths } from './paths.js';
import type { IgnoredFields } from './requests/ignored-fields.js';

/** A call as the handler sees it. */
export interface RoutedCall extends Call {
  /** Names of fields that are ignored, the first ones. */
  readonly ignored: readonly string[];
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
  private readonly running = new Set<OneCall>();
  private draining = false;
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
    return !this.draining;
  }

  /**
   * @param client aborts where the client is gone
   * @param onEnd called once, when the response has been sent
   * @param input the field of the request with the prompt or the texts, for errors
   * @throws ApiError 429, 503
   */
  begin(client: AbortSignal, onEnd: (call: Call) => void, input?: string): RoutedCall {
    if (this.draining) throw new ApiError(503, 'the server shuts down', null, 'shutting_down');
    if (this.running.size >= this.most)
      throw new ApiError(429, `the server works on ${this.most} requests already`, null, 'too_many_requests');
    const ended = () => {
      this.end(call);
      onEnd(call);
    };
    const call: OneCall = new OneCall(client, this.rules, ended, input);
    this.running.add(call);
    return call;
  }

  /** Takes no more requests, and waits for those under way; after `ms` milliseconds they are aborted. */
  async drain(ms: number): Promise<void> {
    this.draining = true;
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

  private end(call: OneCall): void {
    this.running.delete(call);
    if (this.running.size === 0) this.ended();
  }
}

/** Most names of ignored fields that a response's header has. */
const maxIgnored = 20;

class OneCall implements RoutedCall {
  readonly id = randomUUID();
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private isLate = false;
  private isStream = false;
  failure: unknown;
  readonly notices = new Set<string>();
  ignored: readonly string[] = [];

  constructor(
    private readonly client: AbortSignal,
    private readonly rules: CallRules,
    private readonly onEnd: () => void,
    private readonly input: string | undefined,
  ) {
    this.timer = setTimeout(() => {
      this.isLate = true;
      this.abort();
    }, rules.requestMs);
    client.addEventListener('abort', this.abort);
    if (client.aborted) this.abort();
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
    clearTimeout(this.timer);
    this.client.removeEventListener('abort', this.abort);
    this.onEnd();
  };
}
