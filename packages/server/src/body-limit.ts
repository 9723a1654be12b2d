import { onAbort } from '@quern/core';
import { ApiError, shutsDown } from './errors.js';

const tooLarge = (most: number): ApiError =>
  new ApiError(413, `the body has more than ${most} bytes`, null, 'body_too_large');

const tooManyBytes = (most: number): ApiError =>
  new ApiError(
    429,
    `the bodies of all requests have more than ${most} bytes together: send the request again later`,
    null,
    'too_many_bytes',
  );

/** @throws ApiError 415 for a compressed body */
export function needPlainBody(request: Request): void {
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (/^identity$/i.test(encoding.trim())) return;
  const message = `the body is encoded (content-encoding: ${encoding}): send it without compression`;
  throw new ApiError(415, message, null, 'bad_content_encoding');
}

/** Bytes per second that a body must have on average, once its first `ms` are over. */
const slowest = 16 << 10;

/** What bounds the bodies of requests. */
export interface BodyLimits {
  /** Milliseconds that a body has, and a second more per 16 KiB; also the most in which nothing of it comes. */
  readonly ms: number;
  /** Most bytes of all bodies together. */
  readonly total: number;
  /** Aborts where the server closes. */
  readonly closing: AbortSignal;
}

/** The bodies of all requests under way. */
export class Bodies {
  /** Those that come in: first the one of which nothing has come for the longest time. */
  private readonly incoming = new Set<Body>();
  private bytes = 0;

  constructor(readonly limits: BodyLimits) {}

  /** @param most bytes of the body */
  open(most: number): Body {
    return new Body(this, Math.min(most, this.limits.total));
  }

  /** Counts bytes of a body that comes in. Where all have too many, those of which nothing came for the longest time end. */
  hold(body: Body, bytes: number): void {
    this.incoming.delete(body);
    this.incoming.add(body);
    this.bytes += bytes;
    for (const each of this.incoming) {
      if (this.bytes <= this.limits.total) return;
      each.fail(tooManyBytes(this.limits.total));
    }
  }

  /** The body has come: it ends with its request alone. */
  keep(body: Body): void {
    this.incoming.delete(body);
  }

  release(body: Body, bytes: number): void {
    this.incoming.delete(body);
    this.bytes -= bytes;
  }
}

const none = new Uint8Array(0);

/** The body of a request. */
export class Body {
  /** In one buffer: chunks of a byte each would take a hundred times as much. */
  private buffer = none;
  private length = 0;
  /** Bytes of it that count. */
  private held = 0;
  private fault: ApiError | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly begun = performance.now();
  private stop = (): void => {};

  constructor(
    private readonly bodies: Bodies,
    private readonly most: number,
  ) {}

  /**
   * The request with its whole body.
   * @throws ApiError 413, also where its length says so; 408 where it stops or is slow; 429 where all bodies are too many
   *   bytes; 503 where the server closes before it came; 499 where the client is gone
   */
  async readOf(request: Request): Promise<Request> {
    const length = Number(request.headers.get('content-length') ?? 0);
    if (length > this.most) throw tooLarge(this.most);
    if (!request.body) return request;
    const { method, headers, url } = request;
    return new Request(url, { method, headers, body: await this.read(request.body) });
  }

  /** Ends the reading. */
  fail(fault: ApiError): void {
    if (this.fault) return;
    this.fault = fault;
    this.buffer = none;
    this.release();
    this.stop();
  }

  /** The request has ended. */
  release(): void {
    this.bodies.release(this, this.held);
    this.held = 0;
  }

  private async read(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
    const { closing } = this.bodies.limits;
    const reader = stream.getReader();
    this.stop = () => void reader.cancel().catch(() => {}); // resolves a read that waits
    const stopListening = onAbort(closing, () => this.fail(shutsDown()));
    if (closing.aborted) this.fail(shutsDown());
    try {
      this.watch();
      return await this.readAll(reader);
    } catch (error) {
      this.stop();
      throw error;
    } finally {
      clearTimeout(this.timer);
      stopListening();
    }
  }

  private async readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
    for (;;) {
      const { value } = await reader.read().catch(gone);
      if (this.fault) throw this.fault;
      if (!value) break;
      this.add(value);
      this.watch();
    }
    this.bodies.keep(this);
    const { buffer } = this;
    this.buffer = none;
    return buffer.subarray(0, this.length);
  }

  /** @throws ApiError 413 */
  private add(chunk: Uint8Array): void {
    const length = this.length + chunk.length;
    if (length > this.most) throw tooLarge(this.most);
    const before = this.buffer;
    if (length > before.length) {
      this.buffer = new Uint8Array(Math.max(length, Math.min(2 * before.length, this.most)));
      this.buffer.set(before.subarray(0, this.length));
    }
    this.buffer.set(chunk, this.length);
    this.length = length;
    const more = this.buffer.length - before.length;
    this.held += more;
    this.bodies.hold(this, more);
  }

  /** Waits for the next chunk. */
  private watch(): void {
    const { ms } = this.bodies.limits;
    const left = this.begun + ms + (1000 * this.length) / slowest - performance.now();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fail(this.tooSlow()), Math.min(ms, left));
  }

  private tooSlow(): ApiError {
    const ms = Math.round(performance.now() - this.begun);
    const message = `only ${this.length} bytes of the body came in ${ms} ms: send the request again`;
    return new ApiError(408, message, null, 'body_timeout');
  }
}

const gone = (): never => {
  throw new ApiError(499, 'the client closed the request', null, 'aborted');
};
