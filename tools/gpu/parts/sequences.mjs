// Timed work of language models: a prompt, or tokens of several sequences at once.
import { performance } from 'node:perf_hooks';

/** Token ids that every vocabulary has. `seed` changes the text. */
const someTokens = (count, seed) => Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104729) % 256);

const greedy = { temperature: 0 };
export const sampled = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, seed: 1 };

async function run(session, ids, maxTokens, reuse = true, sampling = greedy) {
  const options = { maxTokens, ...sampling, ignoreEos: true, reuse };
  const { tokens } = await session.generate(ids, options).result;
  if (tokens.length !== maxTokens) throw new Error(`asked for ${maxTokens} tokens, got ${tokens.length}`);
}

/** Milliseconds of JavaScript and of the wall while `act` runs. */
async function timed(act) {
  const before = performance.eventLoopUtilization();
  const from = performance.now();
  await act();
  const wall = performance.now() - from;
  return { wall, javascript: performance.eventLoopUtilization(before).active };
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Milliseconds of a prompt up to its first token. */
export async function prefill(model, tokens, repeat) {
  const session = model.session();
  try {
    const times = [];
    for (let i = 0; i <= repeat; i++)
      times.push((await timed(() => run(session, someTokens(tokens, i), 1, false))).wall);
    return { milliseconds: median(times.slice(1)) };
  } finally {
    session.dispose();
  }
}

/** Other programs disturb a measurement: it is repeated this many times at most. */
const attempts = 4;

/** Milliseconds of a token: those of 2n tokens less those of n, over n. `together(count, seed)` times `count` tokens. */
async function millisecondsOfToken(together, tokens, repeat) {
  const [few, many] = [[], []];
  for (let i = 1; i <= repeat; i++) {
    few.push(await together(tokens, i));
    many.push(await together(2 * tokens, i + repeat));
  }
  const perToken = (name) => (median(many.map((t) => t[name])) - median(few.map((t) => t[name]))) / tokens;
  return { milliseconds: perToken('wall'), javascript: perToken('javascript') };
}

/**
 * Milliseconds of a token of each of `batch` sequences with `depth` tokens in their caches, and the part of JavaScript in it. The
 * difference of an answer of 2n tokens and one of n: the prompt's step cancels out. Throws if 2n tokens take no longer, again and again.
 */
export async function decode(model, { tokens, batch = 1, depth = 0, sampling }, repeat) {
  const sessions = Array.from({ length: batch }, () => model.session());
  const together = (count, seed) =>
    timed(() =>
      Promise.all(
        sessions.map((session, i) => run(session, [...someTokens(depth, i), seed], count, true, sampling)),
      ),
    );
  try {
    if (depth > 0) for (const [i, session] of sessions.entries()) await run(session, someTokens(depth, i), 0);
    await together(4, 0);
    for (let i = 0; i < attempts; i++) {
      const found = await millisecondsOfToken(together, tokens, repeat);
      if (found.milliseconds > 0) return found;
    }
    throw new Error(
      `${2 * tokens} tokens take no longer than ${tokens}: too short to measure beside other programs`,
    );
  } finally {
    for (const session of sessions) session.dispose();
  }
}
