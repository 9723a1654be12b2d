import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor, type NamedModel } from '../models.js';
import { modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import { truncationFields, truncationOf } from '../requests/truncation.js';
import { wholeJson } from '../whole.js';
import { embedded, inputField, needDimensions, openAiEmbeddings, rowsOf } from './embeddings.js';
import { orTeiError, teiFields } from './tei.js';

const teiRequest = z.strictObject({
  ...teiFields,
  inputs: inputField,
  normalize: orNull(z.boolean()),
  prompt_name: orNull(z.string()),
  dimensions: orNull(whole(1)),
});

/** POST /embed, in the form of text-embeddings-inference: a list of embeddings */
export const embed = (request: Request, context: ServerContext, call: Call): Promise<Response> =>
  orTeiError(call, async () => {
    const body = parse(teiRequest, await readJson(request), call);
    const named = await modelFor(context, call, 'embedding', body);
    needDimensions(body.dimensions, named);
    needNorm(body.normalize ?? true, named, 'normalize');
    const { prompt_name: prompt, dimensions, truncate = false } = body;
    const options = { truncate, prompt, dimensions, signal: call.signal };
    const found = await embedded(context, named, body.inputs, options, 'inputs');
    return rowsOf(found).map((row) => written(row, body.normalize ?? true, named));
  });

const nativeRequest = z.strictObject({
  model: modelName,
  content: inputField,
  embd_normalize: orNull(z.number().int()),
  ...truncationFields,
});

/** POST /embedding, in the form of llama.cpp's server; with `input` in OpenAI's. /embeddings: the same. */
export async function nativeEmbedding(
  request: Request,
  context: ServerContext,
  call: Call,
): Promise<Response> {
  const json = await readJson(request);
  if (typeof json === 'object' && json !== null && 'input' in json)
    return openAiEmbeddings(json, context, call);
  const body = parse(nativeRequest, json, call);
  const named = await modelFor(context, call, 'embedding', body);
  const isNormal = needNativeNorm(body.embd_normalize ?? 2, named);
  const options = { ...truncationOf(body, named.model), signal: call.signal };
  const found = embedded(context, named, body.content, options, 'content');
  const answer = found.then((rows) =>
    rowsOf(rows).map((row, index) => ({ index, embedding: [written(row, isNormal, named)] })),
  );
  return wholeJson(answer, call);
}

/** @throws ApiError 400 where the lengths of vectors are wanted, and the model gives them length 1 */
function needNorm(isWanted: boolean, { name, model }: NamedModel<'embedding'>, field: string): void {
  if (isWanted || !model.config.normalise) return;
  throw badField(field, `the embeddings of "${name}" always have the length 1: leave ${field} out`);
}

/** 2: of length 1; -1: as they are computed. @throws ApiError 400 */
function needNativeNorm(norm: number, named: NamedModel<'embedding'>): boolean {
  const field = 'embd_normalize';
  if (norm !== 2 && norm !== -1)
    throw badField(field, `${field} must be 2 (length 1) or -1 (as they are computed)`);
  needNorm(norm === 2, named, field);
  return norm === 2;
}

/** A vector as numbers, of length 1 where wanted. */
function written(row: Float32Array, isNormal: boolean, { model }: NamedModel<'embedding'>): number[] {
  if (!isNormal || model.config.normalise) return Array.from(row);
  const length = Math.hypot(...row) || 1;
  return Array.from(row, (value) => value / length);
}
