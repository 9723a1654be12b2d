import { stringifyJson } from '@quern/runtime';
import type { Call } from './context.js';
import type { ApiError } from './errors.js';
import { streamed } from './streamed.js';

/** What says that the answer is not there yet. */
const notYet = Symbol('not yet');

/** The value; `notYet` after `ms` milliseconds, unless `ms` is 0. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | typeof notYet> {
  if (ms === 0) return work;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof notYet>((resolve) => {
    timer = setTimeout(resolve, ms, notYet);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function* only(text: Promise<string>): AsyncGenerator<string> {
  yield await text;
}

/** How a whole answer is written. */
export interface WholeForm {
  readonly contentType: string;
  /** Written before the answer while it is made; '': nothing. */
  readonly keepAlive: string;
  readonly onError?: (error: ApiError) => string;
}

/**
 * The response of one text. Where the text takes longer than `call.keepAliveMs`, the response begins before it: clients
 * and proxies see that it comes. An error from then on cannot have a status of its own: `onError` writes it into the
 * body, and without `onError` the connection breaks. An earlier error rejects.
 */
export async function wholeText(work: Promise<string>, call: Call, form: WholeForm): Promise<Response> {
  const headers = { 'content-type': form.contentType };
  const text = await within(work, call.keepAliveMs);
  if (text !== notYet) return new Response(text, { headers });
  const { keepAlive, onError } = form;
  const early = { ...headers, 'x-accel-buffering': 'no' };
  return streamed(only(work), call, { headers: early, keepAlive, onError });
}

/**
 * As `wholeText`, of JSON: white space comes before it.
 * @param errorBody the form of errors; a late one has its `status` in the body
 */
export const wholeJson = (
  work: Promise<unknown>,
  call: Call,
  errorBody: (error: ApiError) => object = ({ body }) => body,
): Promise<Response> =>
  wholeText(
    work.then((value) => stringifyJson(value) ?? 'null'),
    call,
    {
      contentType: 'application/json',
      keepAlive: '\n',
      onError: (error) => JSON.stringify({ ...errorBody(error), status: error.status }),
    },
  );
