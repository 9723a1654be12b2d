import { randomUUID } from 'node:crypto';
import type { Embedder, Ranking, TextsOptions } from '@quern/runtime';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import type { ApiError } from '../errors.js';
import { modelFor, type NamedModel } from '../models.js';
import { harmless, modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import {
  namingLongTexts,
  perDocument,
  truncatedTexts,
  truncationFields,
  truncationOf,
} from '../requests/truncation.js';
import { wholeJson } from '../whole.js';
import { orTeiError, teiFields } from './tei.js';

const document = z.union([z.string(), z.object({ text: z.string() }).transform(({ text }) => text)]);

/** Objects are ranked by their text: only this may be said. */
const rankFields = z
  .array(z.unknown())
  .refine((fields) => fields.every((field) => field === 'text'), {
    error: 'rank_fields is not supported, but for ["text"]: leave it out',
  })
  .nullish();

const fields = {
  ...harmless,
  model: modelName,
  query: z.string().min(1),
  top_n: orNull(whole(1)),
  max_tokens_per_doc: orNull(whole(1)),
  rank_fields: rankFields,
};

const request_ = z.strictObject({
  ...fields,
  documents: z.array(document).min(1).max(10_000),
  return_documents: orNull(z.boolean()),
  ...truncationFields,
});

const cohereRequest = z.strictObject({
  ...fields,
  documents: z.array(z.string()).min(1).max(10_000),
  priority: z.unknown().optional(),
});

const teiRequest = z.strictObject({
  ...teiFields,
  query: z.string().min(1),
  texts: z.array(z.string()).min(1).max(10_000),
  raw_scores: orNull(z.boolean()),
  return_text: orNull(z.boolean()),
});

/** Ranks, and names the field of a text that is too long. */
export async function ranking(
  { metrics }: ServerContext,
  { name, model }: NamedModel<'embedding'>,
  [query, documents]: readonly [query: string, documents: readonly string[]],
  lengths: TextsOptions,
  field = 'documents',
): Promise<Ranking> {
  const ended = metrics.rerank.begin(name);
  const found = await model
    .rerank(query, documents, lengths)
    .catch(namingLongTexts((index) => (index === undefined ? 'query' : `${field}.${index}`)));
  ended(found.tokens);
  return found;
}

const shortened = ({ query, max_tokens_per_doc }: z.output<z.ZodObject<typeof fields>>, model: Embedder) =>
  max_tokens_per_doc === undefined ? undefined : perDocument(query, max_tokens_per_doc, model);

/** POST /v1/rerank, /v1/reranking and /reranking, in the form of Jina, Cohere's first version, vLLM and llama.cpp */
export async function rerank(request: Request, context: ServerContext, call: Call): Promise<Response> {
  return rankFor(await readJson(request), context, call);
}

async function rankFor(json: unknown, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(request_, json, call);
  const named = await modelFor(context, call, 'embedding', body);
  const lengths = shortened(body, named.model) ?? truncationOf(body, named.model);
  const found = ranking(context, named, [body.query, body.documents], { ...lengths, signal: call.signal });
  const answer = found.then(({ ranked, tokens, truncated }) => ({
    id: `rerank-${randomUUID()}`,
    object: 'list',
    model: named.name,
    results: ranked.slice(0, body.top_n).map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(body.return_documents && { document: { text: body.documents[index]! } }),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens, ...truncatedTexts(lengths, truncated) },
  }));
  return wholeJson(answer, call);
}

/** POST /v2/rerank, in the form of Cohere's second version */
export async function cohereRerank(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(cohereRequest, await readJson(request), call);
  const named = await modelFor(context, call, 'embedding', body);
  const lengths = { ...shortened(body, named.model), signal: call.signal };
  const found = ranking(context, named, [body.query, body.documents], lengths);
  const answer = found.then(({ ranked, tokens }) => ({
    id: randomUUID(),
    results: ranked.slice(0, body.top_n).map(({ index, score }) => ({ index, relevance_score: score })),
    meta: {
      api_version: { version: '2' },
      billed_units: { search_units: 1 },
      tokens: { input_tokens: tokens },
    },
  }));
  return wholeJson(answer, call, cohereError);
}

/** An error in Cohere's form. It has no place for the field: the message names it. */
export const cohereError = ({ message, param }: ApiError) => ({
  message: param === null || message.includes(param) ? message : `${param}: ${message}`,
});

/** POST /rerank: with `texts` in the form of TEI, otherwise as /v1/rerank */
export async function anyRerank(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const json = await readJson(request);
  const isTei = typeof json === 'object' && json !== null && 'texts' in json;
  return isTei ? orTeiError(call, () => teiRerank(json, context, call)) : rankFor(json, context, call);
}

async function teiRerank(json: unknown, context: ServerContext, call: Call): Promise<unknown> {
  const body = parse(teiRequest, json, call);
  const named = await modelFor(context, call, 'embedding', body);
  const lengths = { truncate: body.truncate ?? false, signal: call.signal };
  const { ranked } = await ranking(context, named, [body.query, body.texts], lengths, 'texts');
  return ranked.map(({ index, score, logit }) => ({
    index,
    score: body.raw_scores ? logit : score,
    ...(body.return_text && { text: body.texts[index]! }),
  }));
}
