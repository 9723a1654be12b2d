import { onAbort } from '@quern/core';
import { ApiError, shutsDown } from './errors.js';

const tooLarge = (most: number): ApiError =>
  new ApiError(413, `the body has more than ${most} bytes`, null, 'body_too_large');

/** @throws ApiError 415 for a compressed body */
export function needPlainBody(request: Request): void {
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (/^identity$/i.test(encoding.trim())) return;
  const message = `the body is encoded (content-encoding: ${encoding}): send it without compression`;
  throw new ApiError(415, message, null, 'bad_content_encoding');
}

/** What bounds the body of a request. */
export interface BodyLimits {
  /** Most bytes. */
  readonly most: number;
  /** Most milliseconds in which nothing of it comes. */
  readonly ms: number;
  /** Aborts where the server closes. */
  readonly closing: AbortSignal;
}

/**
 * The request with its whole body.
 * @throws ApiError 413, also where its length says so; 408 where it stops; 503 where the server closes before it came; 499
 *   where the client is gone
 */
export async function withBody(request: Request, limits: BodyLimits): Promise<Request> {
  const length = Number(request.headers.get('content-length') ?? 0);
  if (length > limits.most) throw tooLarge(limits.most);
  if (!request.body) return request;
  const { method, headers, url } = request;
  return new Request(url, { method, headers, body: await read(request.body, limits) });
}

async function read(body: ReadableStream<Uint8Array>, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const watch = new Watch(limits);
  try {
    // one race per body: each race leaves a reaction on `failed`
    return await Promise.race([readAll(reader, limits.most, watch), watch.failed]);
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  } finally {
    watch.end();
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  most: number,
  watch: Watch,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { value } = await reader.read().catch(gone);
    if (!value) return Buffer.concat(chunks);
    bytes += value.length;
    if (bytes > most) throw tooLarge(most);
    chunks.push(value);
    watch.progress();
  }
}

const gone = (): never => {
  throw new ApiError(499, 'the client closed the request', null, 'aborted');
};

/** Fails where nothing of a body comes for long, or the server closes. */
class Watch {
  readonly failed: Promise<never>;
  private fail!: (error: ApiError) => void;
  private readonly timer: NodeJS.Timeout;
  private stopListening = (): void => {};

  constructor({ ms, closing }: BodyLimits) {
    this.failed = new Promise((_, reject) => {
      this.fail = reject;
    });
    this.failed.catch(() => {}); // it may fail while nobody waits
    const message = `nothing of the body came for ${ms} ms: send the request again`;
    this.timer = setTimeout(() => this.fail(new ApiError(408, message, null, 'body_timeout')), ms);
    const close = () => this.fail(shutsDown());
    if (closing.aborted) close();
    else this.stopListening = onAbort(closing, close);
  }

  progress(): void {
    this.timer.refresh();
  }

  end(): void {
    clearTimeout(this.timer);
    this.stopListening();
  }
}
