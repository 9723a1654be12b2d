import { z } from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor } from '../models.js';
import { modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';

const tokenizeRequest = z.strictObject({
  model: modelName,
  prompt: orNull(z.string()),
  content: orNull(z.string()),
  add_special_tokens: orNull(z.boolean()),
});

/** POST /tokenize */
export async function tokenize(request: Request, { options }: ServerContext, call: Call): Promise<Response> {
  const body = parse(tokenizeRequest, await readJson(request), call);
  const { model } = modelFor(options, 'generation', body.model);
  const text = body.prompt ?? body.content;
  if (text === undefined) throw badField('prompt', 'give a text as prompt');
  const added = body.add_special_tokens ?? true;
  const tokens = model.tokenize(text, added ? {} : { addBos: false, addEos: false });
  return Response.json({ tokens, count: tokens.length, max_model_len: model.context });
}

const detokenizeRequest = z.strictObject({ model: modelName, tokens: z.array(whole(0)) });

/** POST /detokenize */
export async function detokenize(
  request: Request,
  { options }: ServerContext,
  call: Call,
): Promise<Response> {
  const body = parse(detokenizeRequest, await readJson(request), call);
  const { model } = modelFor(options, 'generation', body.model);
  const prompt = model.detokenize(body.tokens);
  return Response.json({ prompt, content: prompt });
}
