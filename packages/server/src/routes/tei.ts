import * as z from 'zod';
import type { Call } from '../context.js';
import type { ApiError } from '../errors.js';
import { modelName, orNull } from '../requests/fields.js';
import { wholeJson } from '../whole.js';

/** Fields that all requests of text-embeddings-inference have. */
export const teiFields = {
  model: modelName,
  truncate: orNull(z.boolean()),
  truncation_direction: orNull(
    z
      .string()
      .refine((value) => /^right$/i.test(value), { message: 'texts are cut off at their end: leave it out' }),
  ),
};

const types: Readonly<Record<number, string>> = { 400: 'Validation', 413: 'Validation', 429: 'Overloaded' };

/** An error in the form of text-embeddings-inference. */
export const teiError = ({ message, status }: ApiError) => ({
  error: message,
  error_type: types[status] ?? 'Backend',
});

/** The response of a route that has TEI's form; its errors too. */
export async function orTeiError(call: Call, work: () => Promise<unknown>): Promise<Response> {
  try {
    return await wholeJson(work(), call, teiError);
  } catch (error) {
    const found = call.explain(error);
    return Response.json(teiError(found), { status: found.status, headers: found.headers });
  }
}
