import { z } from 'zod';
import type { Call, ServerContext } from '../context.js';
import { modelFor } from '../models.js';
import { harmless, modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import { namingLongTexts, truncatedTexts, truncationFields, truncationOf } from '../requests/truncation.js';
import { wholeJson } from '../whole.js';

const document = z.union([z.string(), z.object({ text: z.string() }).transform(({ text }) => text)]);

const request_ = z.strictObject({
  ...harmless,
  model: modelName,
  query: z.string().min(1),
  documents: z.array(document).min(1).max(10_000),
  top_n: orNull(whole(1)),
  return_documents: orNull(z.boolean()),
  ...truncationFields,
});

/** POST /v1/rerank, in the form of Jina and Cohere */
export async function rerank(request: Request, { options }: ServerContext, call: Call): Promise<Response> {
  const body = parse(request_, await readJson(request), call);
  const { name, model } = modelFor(options, 'embedding', body.model);
  const lengths = truncationOf(body, model);
  const found = model
    .rerank(body.query, body.documents, { ...lengths, signal: call.signal })
    .catch(namingLongTexts((index) => (index === undefined ? 'query' : `documents.${index}`)));
  const answer = found.then(({ ranked, tokens, truncated }) => ({
    model: name,
    results: ranked.slice(0, body.top_n).map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(body.return_documents && { document: { text: body.documents[index]! } }),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens, ...truncatedTexts(lengths, truncated) },
  }));
  return wholeJson(answer, call);
}
