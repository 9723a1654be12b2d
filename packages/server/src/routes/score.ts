import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor } from '../models.js';
import { harmless, modelName, orNull } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import { truncationFields, truncationOf } from '../requests/truncation.js';
import { wholeJson } from '../whole.js';
import { ranking } from './rerank.js';

const texts = orNull(z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(1024)]));

/** Names of the two sides, newest first. */
const sides = [
  ['queries', 'documents'],
  ['text_1', 'text_2'],
  ['data_1', 'data_2'],
] as const;

const request_ = z.strictObject({
  ...harmless,
  model: modelName,
  queries: texts,
  documents: texts,
  text_1: texts,
  text_2: texts,
  data_1: texts,
  data_2: texts,
  ...truncationFields,
});

/** The texts of both sides: one query for all documents, or as many queries as documents. @throws ApiError 400 */
function pairsOf(body: z.output<typeof request_>): {
  readonly queries: readonly string[];
  readonly documents: readonly string[];
  readonly field: string;
} {
  const [first, second] = sides.find(([a, b]) => body[a] !== undefined || body[b] !== undefined) ?? sides[0];
  const [queries, documents] = [[body[first] ?? []].flat(), [body[second] ?? []].flat()];
  if (queries.length === 0) throw badField(first, `${first} is missing`, 'missing');
  if (documents.length === 0) throw badField(second, `${second} is missing`, 'missing');
  if (queries.length !== 1 && queries.length !== documents.length)
    throw badField(
      first,
      `${first} has ${queries.length} texts and ${second} has ${documents.length}: give one, or as many`,
    );
  return { queries, documents, field: second };
}

/** POST /score and /v1/score, in the form of vLLM */
export async function score(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(request_, await readJson(request), call);
  const named = await modelFor(context, call, 'embedding', body);
  const lengths = { ...truncationOf(body, named.model), signal: call.signal };
  const { queries, documents, field } = pairsOf(body);
  const one = queries.length === 1;
  const work = one
    ? [ranking(context, named, [queries[0]!, documents], lengths, field)]
    : queries.map((query, i) => ranking(context, named, [query, [documents[i]!]], lengths, field));
  const answer = Promise.all(work).then((rankings) => {
    const scores = rankings.flatMap(({ ranked }) =>
      [...ranked].sort((a, b) => a.index - b.index).map(({ score: each }) => each),
    );
    const tokens = rankings.reduce((sum, each) => sum + each.tokens, 0);
    return {
      id: `score-${randomUUID()}`,
      object: 'list',
      created: Math.floor(Date.now() / 1000),
      model: named.name,
      data: scores.map((each, index) => ({ index, object: 'score', score: each })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  });
  return wholeJson(answer, call);
}
