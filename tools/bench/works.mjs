// The timed works. `quick`: small versions, to see that everything runs.
const full = { prompt: 512, gen: 64, depth: 4096, long: 2048 };
const small = { prompt: 64, gen: 8, depth: 128, long: 256 };

/**
 * `prompt` tokens up to the first generated token, or `gen` generated tokens for each of `batch` sequences, after
 * `depth` cached tokens with elements of type `cache`. `busy`: another process keeps every core busy. `load`: a new
 * process loads, then computes a first prompt.
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

/** Context tokens per sequence. */
export const contextOf = ({ tokens, depth }) => depth + tokens + 8;

/** Token ids that every vocabulary has; the text is meaningless. `seed` changes the first token. */
export const someTokens = (count, seed = 0) =>
  Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104729) % 256);

/** A turn's prompt, new to every cache, and the number of generated tokens. */
export const turnOf = ({ kind, tokens }, turn) =>
  kind === 'prefill'
    ? { prompt: someTokens(tokens, turn + 1), answer: 1 }
    : { prompt: someTokens(1, turn + 1), answer: tokens };
