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
  const next = () => Promise.race([reader.read().catch(gone), watch.failed]);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (let { value } = await next(); value; { value } = await next()) {
      bytes += value.length;
      if (bytes > limits.most) throw tooLarge(limits.most);
      chunks.push(value);
      watch.progress();
    }
    return Buffer.concat(chunks);
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  } finally {
    watch.end();
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

  constructor(private readonly limits: BodyLimits) {
    const { ms, closing } = limits;
    this.failed = new Promise((_, reject) => {
      this.fail = reject;
    });
    this.failed.catch(() => {}); // it may fail while nobody waits
    const message = `nothing of the body came for ${ms} ms: send the request again`;
    this.timer = setTimeout(() => this.fail(new ApiError(408, message, null, 'body_timeout')), ms);
    closing.addEventListener('abort', this.close);
    if (closing.aborted) this.close();
  }

  progress(): void {
    this.timer.refresh();
  }

  end(): void {
    clearTimeout(this.timer);
    this.limits.closing.removeEventListener('abort', this.close);
  }

  private readonly close = (): void => this.fail(shutsDown());
}
