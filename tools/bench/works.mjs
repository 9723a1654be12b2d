// What is timed. `quick` is the same in small, to see that everything runs.
const full = { prompt: 512, gen: 64, depth: 4096, long: 2048 };
const small = { prompt: 64, gen: 8, depth: 128, long: 256 };

/**
 * `prompt` tokens computed up to the first token of an answer, or `gen` tokens of answer for each of `batch` sequences, after
 * `depth` tokens that are in the cache, whose elements are `cache`. `busy`: while another process keeps every core busy. `load`: a fresh process loads,
 * and then computes a first prompt.
 */
export function worksOf(quick) {
  const { prompt, gen, depth, long } = quick ? small : full;
  return [
    { name: 'prefill', title: `prefill ${prompt}`, kind: 'prefill', tokens: prompt },
    { name: 'decode', title: `decode ${gen}`, kind: 'decode', tokens: gen },
    { name: 'decode-deep', title: `decode ${gen} at depth ${depth}`, kind: 'decode', tokens: gen, depth },
    {
      name: 'decode-deep-int8',
      title: `decode ${gen} at depth ${depth}, int8 caches`,
      kind: 'decode',
      tokens: gen,
      depth,
      cache: 'int8',
    },
    { name: 'batch-4', title: `decode ${gen}, 4 sequences`, kind: 'decode', tokens: gen, batch: 4 },
    { name: 'batch-8', title: `decode ${gen}, 8 sequences`, kind: 'decode', tokens: gen, batch: 8 },
    { name: 'first-token', title: `first token of ${long}`, kind: 'prefill', tokens: long, shows: 'time' },
    {
      name: 'prefill-busy',
      title: `prefill ${prompt}, cores busy`,
      kind: 'prefill',
      tokens: prompt,
      busy: true,
      quiet: 'prefill',
    },
    {
      name: 'decode-busy',
      title: `decode ${gen}, cores busy`,
      kind: 'decode',
      tokens: gen,
      busy: true,
      quiet: 'decode',
    },
    { name: 'load', title: 'load', kind: 'load', tokens: prompt },
  ].map((work) => ({ depth: 0, batch: 1, busy: false, cache: 'f16', ...work }));
}

/** Tokens of context that each sequence needs. */
export const contextOf = ({ tokens, depth }) => depth + tokens + 8;

/** Tokens that every vocabulary has and that mean nothing; another seed gives another first token. */
export const someTokens = (count, seed = 0) =>
  Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104729) % 256);

/** The prompt of one turn, which no cache has seen, and how many tokens of answer follow it. */
export const turnOf = ({ kind, tokens }, turn) =>
  kind === 'prefill'
    ? { prompt: someTokens(tokens, turn + 1), answer: 1 }
    : { prompt: someTokens(1, turn + 1), answer: tokens };
