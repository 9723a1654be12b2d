import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { generatorFor } from '../models.js';
import { orNull } from '../requests/fields.js';
import { nativeFields } from '../requests/native.js';
import { parse, readJson } from '../requests/parse.js';
import { continueNatively } from './completion.js';

const extra = z.strictObject({ filename: z.string().default('tmp'), text: z.string() });

const infillRequest = z.strictObject({
  ...nativeFields,
  input_prefix: z.string(),
  input_suffix: z.string(),
  input_extra: orNull(z.array(extra).max(256)),
  prompt: orNull(z.string()),
});

/** POST /infill, in the form of llama.cpp's server: `prompt` is the end of the prefix */
export async function infill(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(infillRequest, await readJson(request), call);
  const served = await generatorFor(context, call, body);
  const files = body.input_extra?.map(({ filename: name, text }) => ({ name, text }));
  const ids = await served.model.infillTokens(body.input_prefix + (body.prompt ?? ''), body.input_suffix, {
    files,
  });
  return continueNatively([ids], body, served, context, call);
}
