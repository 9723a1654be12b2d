import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { type Model, QuernError } from '@quern/runtime';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { ApiError, badField } from '../errors.js';
import { modelFor } from '../models.js';
import { generators, knownNames, type Offer } from '../offer.js';
import { modelName } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import { wholeJson } from '../whole.js';

const adapterName = z.string().regex(/^[\w.-]{1,100}$/, 'must be 1 to 100 letters, digits, dots or hyphens');

const loadRequest = z.strictObject({
  model: modelName,
  lora_name: adapterName,
  lora_path: z.string().min(1).max(1000),
});

/** POST /v1/load_lora_adapter, as vLLM has it; the path lies in the server's folder of adapters */
export async function loadAdapter(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(loadRequest, await readJson(request), call);
  const offer = { ...context.offer, anyModel: false };
  const { model } = await modelFor({ ...context, offer }, call, 'generation', body);
  needFree(offer, body.lora_name);
  const path = await pathIn(context.options.adapterFolder!, body.lora_path);
  await model.loadAdapter(body.lora_name, path, { signal: call.signal }).catch((error: unknown) => {
    throw isFault(error)
      ? badField('lora_path', told(error, path, body.lora_path), 'invalid_adapter')
      : error;
  });
  return Response.json({ lora_name: body.lora_name, loaded: true });
}

/** Whether the adapter's files are at fault. */
const isFault = (error: unknown): error is QuernError =>
  error instanceof QuernError && !['ABORTED', 'DISPOSED', 'OUT_OF_MEMORY'].includes(error.code);

/** The message with the path as the client knows it. */
const told = ({ message }: QuernError, path: string, asked: string): string =>
  message.replaceAll(path, asked);

const unloadRequest = z.strictObject({ lora_name: adapterName });

/** POST /v1/unload_lora_adapter; answers when the adapter's requests have ended */
export async function unloadAdapter(
  request: Request,
  { offer }: ServerContext,
  call: Call,
): Promise<Response> {
  const { lora_name } = parse(unloadRequest, await readJson(request), call);
  const found = generators(offer.pool).find(([, model]) => hasAdapter(model, lora_name));
  if (!found) throw new ApiError(404, `there is no adapter "${lora_name}"`, 'lora_name', 'adapter_not_found');
  const unloaded = found[1].unloadAdapter(lora_name);
  return wholeJson(
    unloaded.then(() => ({ lora_name, loaded: false })),
    call,
  );
}

const hasAdapter = ({ adapters }: Model, name: string): boolean =>
  adapters.some((each) => each.name === name);

/** Clients name adapters and models alike. */
function needFree(offer: Offer, name: string): void {
  if (knownNames(offer).includes(name))
    throw badField('lora_name', `there is a model or adapter "${name}"`, 'name_taken');
}

/** A path in the folder, also after its links. */
async function pathIn(folder: string, path: string): Promise<string> {
  const root = await realpath(folder);
  const found = isAbsolute(path) ? undefined : await realpath(join(root, path)).catch(() => undefined);
  const within = found && relative(root, found);
  if (!found || !within || within.startsWith('..') || isAbsolute(within))
    throw badField('lora_path', 'there is no such adapter in the folder of adapters', 'adapter_not_found');
  return found;
}
