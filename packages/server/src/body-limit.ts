import { ApiError } from './errors.js';

const tooLarge = (most: number): ApiError =>
  new ApiError(413, `the body has more than ${most} bytes`, null, 'body_too_large');

/** @throws ApiError 415 for a compressed body */
export function needPlainBody(request: Request): void {
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (/^identity$/i.test(encoding.trim())) return;
  const message = `the body is encoded (content-encoding: ${encoding}): send it without compression`;
  throw new ApiError(415, message, null, 'bad_content_encoding');
}

/**
 * The request with a body of at most `most` bytes: more makes reading it fail.
 * @throws ApiError 413 where its length says so
 */
export function limitBody(request: Request, most: number): Request {
  const length = Number(request.headers.get('content-length') ?? 0);
  if (length > most) throw tooLarge(most);
  if (!request.body) return request;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > most) controller.error(tooLarge(most));
      else controller.enqueue(chunk);
    },
  });
  const { method, headers, url } = request;
  const body = request.body.pipeThrough(counted);
  return new Request(url, { method, headers, body, duplex: 'half' } as RequestInit);
}
