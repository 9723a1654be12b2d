import type { Call, ServerContext } from '../../context.js';
import { chosenModel } from '../../offer.js';
import { found, line, lineStream } from './form.js';

interface UnloadRequest {
  readonly model?: string | undefined;
  readonly keep_alive?: number | undefined;
  readonly stream?: boolean | undefined;
}

/**
 * The answer to a request without a prompt that has its model unloaded, by `keep_alive: 0`; undefined for any other
 * request, and for models that stay loaded.
 * @param empty the fields of the missing answer
 */
export async function unloadedBy(
  { offer }: ServerContext,
  body: UnloadRequest,
  empty: object,
  call: Call,
): Promise<Response | undefined> {
  const { model, keep_alive, stream } = body;
  if (keep_alive !== 0) return undefined;
  const { name, pooled } = await found(model, async () => chosenModel(offer, 'generation', model));
  if (pooled.pinned) return undefined;
  void offer.pool.unload(pooled.name);
  const created_at = new Date().toISOString();
  const value = { model: model ?? name, created_at, ...empty, done: true, done_reason: 'unload' };
  return stream === false ? Response.json(value) : lineStream(only(line(value)), call);
}

async function* only(text: string): AsyncGenerator<string> {
  yield text;
}
