import {
  type AttnConfig,
  type Backend,
  inputBatch,
  type KvCache,
  type KvDtype,
  type KvSequence,
  type Step,
} from '@quern/core';
import { normal } from '@quern/core/testing';

export const config: AttnConfig = { heads: 4, kvHeads: 2, headDim: 8, scale: 0.35, causal: true };

/** Options of a cache for `config`. */
export const cacheOptions = (dtype: KvDtype, context: number) => ({
  layers: 1,
  kvHeads: config.kvHeads,
  headDim: config.headDim,
  dtype,
  context,
});

/** A sequence and the next tokens to append to it. */
export interface Feed {
  readonly sequence: KvSequence;
  readonly tokens: readonly number[];
}

/** Queries, keys or values that depend only on the token. */
function vectors(step: Step, tokens: readonly number[], heads: number, seed: number) {
  const d = config.headDim;
  const values = new Float32Array(tokens.length * heads * d);
  tokens.forEach((token, t) =>
    values.set(Array.from(normal(seed + 10 * token, [heads * d]).values), t * heads * d),
  );
  return step.input(values, [tokens.length, heads, d]);
}

/** Queries per feed: the other tokens only go into the cache. */
const queries = 4;

async function run(backend: Backend, cache: KvCache, feeds: readonly Feed[], withQueries: boolean) {
  for (const { sequence, tokens } of feeds) sequence.append(tokens.length);
  const step = backend.step();
  const entries = feeds.map(({ sequence, tokens }) => ({ sequence, rows: tokens.length }));
  const batch = inputBatch(step, cache.describe(entries));
  const tokens = feeds.flatMap((feed) => feed.tokens);
  const layer = cache.layer(0);
  const { heads, kvHeads } = config;
  backend.kvAppend(layer, vectors(step, tokens, kvHeads, 1), vectors(step, tokens, kvHeads, 2), batch.slots);
  if (!withQueries) return step.run();
  return step.read(backend.attention(vectors(step, tokens, heads, 3), layer, batch, config));
}

/** Appends the tokens of every feed and attends with the last `queries` of each: their output rows [T, H, d]. */
export async function attend(
  backend: Backend,
  cache: KvCache,
  feeds: readonly Feed[],
): Promise<Float32Array> {
  const before = feeds.map(({ sequence, tokens }) => ({ sequence, tokens: tokens.slice(0, -queries) }));
  const last = feeds.map(({ sequence, tokens }) => ({ sequence, tokens: tokens.slice(-queries) }));
  await run(backend, cache, before, false);
  return (await run(backend, cache, last, true)) as Float32Array;
}

/** Tokens `first`, `first` + 1, … */
export const tokensFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => first + i);
