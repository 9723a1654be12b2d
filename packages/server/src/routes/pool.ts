import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { ApiError } from '../errors.js';
import { knownNames, servedName } from '../offer.js';
import type { PooledModel } from '../pool/entry.js';
import { parse, readJson } from '../requests/parse.js';
import { wholeJson } from '../whole.js';

const request_ = z.strictObject({ model: z.string() });

/** POST /models/load, in the form of llama.cpp's router; answers when the model is loaded */
export async function loadByHand(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const { name } = await pooledOf(request, context, call);
  const loaded = context.offer.pool.load(name, { signal: call.signal });
  return wholeJson(
    call.waitFor(loaded, 'json').then(() => ({ success: true })),
    call,
  );
}

/** POST /models/unload, in the form of llama.cpp's router; answers when the model's requests have ended and it is unloaded */
export async function unloadByHand(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const { name, pinned } = await pooledOf(request, context, call);
  if (pinned)
    throw new ApiError(400, `"${name}" stays loaded, as chosen when the server started`, 'model', 'pinned');
  const unloaded = context.offer.pool.unload(name);
  return wholeJson(
    call.waitFor(unloaded, 'json').then(() => ({ success: true })),
    call,
  );
}

/** @throws ApiError 404 */
async function pooledOf(request: Request, { offer }: ServerContext, call: Call): Promise<PooledModel> {
  const { model } = parse(request_, await readJson(request), call);
  const { pool, aliases = {} } = offer;
  const name = servedName(offer, model);
  const pooled = pool.find(Object.hasOwn(aliases, name) ? aliases[name]! : name);
  if (pooled) return pooled;
  const known = knownNames(offer).join(', ');
  throw new ApiError(404, `there is no model "${model}"; known models: ${known}`, 'model', 'model_not_found');
}
