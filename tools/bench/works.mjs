// The timed works. `quick`: small versions, to see that everything runs.
const full = {
  short: [16, 64],
  prompt: 512,
  gen: 64,
  depth: 4096,
  deepest: 16384,
  long: 2048,
  longest: 8192,
};
const small = { short: [4, 16], prompt: 64, gen: 8, depth: 128, deepest: 192, long: 256, longest: 320 };

/** Prompt tokens of a warm-up. */
export const warmUpTokens = 64;

/**
 * `prompt` tokens up to the first generated token, or `gen` generated tokens for each of `batch` sequences, after
 * `depth` cached tokens with elements of type `cache`. `times`: a turn is the mean of so many, where one is short.
 * `turns`: at most so many, where one is long. `busy`: another process keeps every core busy. `load`: a new process loads,
 * then computes a first prompt.
 */
export function worksOf(quick) {
  const { short, prompt, gen, depth, deepest, long, longest } = quick ? small : full;
  return [
    { name: 'prefill-16', title: `prefill ${short[0]}`, kind: 'prefill', tokens: short[0], times: 16 },
    { name: 'prefill-64', title: `prefill ${short[1]}`, kind: 'prefill', tokens: short[1], times: 4 },
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
    {
      name: 'decode-16k',
      title: `decode ${gen} at depth ${deepest}`,
      kind: 'decode',
      tokens: gen,
      depth: deepest,
    },
    { name: 'batch-4', title: `decode ${gen}, 4 sequences`, kind: 'decode', tokens: gen, batch: 4 },
    { name: 'batch-8', title: `decode ${gen}, 8 sequences`, kind: 'decode', tokens: gen, batch: 8 },
    { name: 'batch-16', title: `decode ${gen}, 16 sequences`, kind: 'decode', tokens: gen, batch: 16 },
    { name: 'first-token', title: `first token of ${long}`, kind: 'prefill', tokens: long, shows: 'time' },
    {
      name: 'first-token-8k',
      title: `first token of ${longest}`,
      kind: 'prefill',
      tokens: longest,
      turns: 3,
      shows: 'time',
    },
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
  ].map((work) => ({ depth: 0, batch: 1, times: 1, busy: false, cache: 'f16', ...work }));
}

/** Context tokens per sequence. */
export const contextOf = ({ tokens, depth }) => depth + Math.max(tokens, warmUpTokens) + 8;

/** Most cached tokens and most prompt tokens of a trial: longer ones would take minutes. */
const trial = { depth: 4096, tokens: 2048 };

/** The work as tried before it is measured. */
export const trialOf = (work) => ({
  ...work,
  depth: Math.min(work.depth, trial.depth),
  tokens: Math.min(work.tokens, trial.tokens),
});

/** Token ids that every vocabulary has; the text is meaningless. `seed` changes the first token. */
export const someTokens = (count, seed = 0) =>
  Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104729) % 256);

/** A turn's prompt, new to every cache, and the number of generated tokens. */
export const turnOf = ({ kind, tokens }, turn) =>
  kind === 'prefill'
    ? { prompt: someTokens(tokens, turn + 1), answer: 1 }
    : { prompt: someTokens(1, turn + 1), answer: tokens };
