import {
  checkArgument,
  checkOptions,
  type ProgressListener,
  rules,
  type Schema,
  yieldToEventLoop,
} from '@quern/core';
import { badArgument, badOption, RuntimeError } from '../error.js';
import { Model } from '../model/model.js';
import { inFlight } from './in-flight.js';

export interface PerplexityOptions {
  /** Tokens computed together; each window starts without context. Default: min(256, context). */
  readonly window?: number | undefined;
  /** Most tokens of the text to evaluate. Default: all. */
  readonly tokens?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ProgressListener<'perplexity'> | undefined;
}

/** What each option must be, and its default. */
export const perplexitySchema = {
  window: {
    ...rules.whole(2),
    about: 'tokens computed together; each window starts without context',
    absent: 'min(256, context)',
  },
  tokens: { ...rules.whole(0), about: 'most tokens of the text to evaluate', absent: 'all' },
  signal: { ...rules.signal, about: 'ends the call; the call rejects with ABORTED', absent: 'none' },
  onProgress: {
    ...rules.callback,
    about: "called with { phase: 'perplexity', done, total } after each window: tokens",
    absent: 'none',
  },
} as const satisfies Schema<PerplexityOptions>;

const loaded = { must: 'a model, from loadModel', holds: (value: unknown) => value instanceof Model };

export interface Perplexity {
  /** exp(mean of −ln p(token | earlier tokens of its window)). */
  readonly perplexity: number;
  /** Predicted tokens: all tokens of each window except the first. */
  readonly tokens: number;
}

/**
 * Perplexity of a text. Perfect prediction gives 1; uniform guessing gives the vocabulary size.
 * @throws RuntimeError BAD_OPTION, BAD_ARGUMENT, EMPTY_PROMPT (the text has fewer than two tokens), NO_TOKENIZER,
 * BAD_LOGITS, DISPOSED; BackendError ABORTED.
 */
export async function perplexity(
  model: Model,
  text: string,
  options: PerplexityOptions = {},
): Promise<Perplexity> {
  checkArgument('perplexity', 'model', model, loaded, badArgument);
  checkArgument('perplexity', 'text', text, rules.text, badArgument);
  checkOptions('perplexity', options, perplexitySchema, badOption);
  const { signal, onProgress } = options;
  const window = Math.min(options.window ?? 256, model.context);
  const ids = model.tokenize(text).slice(0, options.tokens);
  if (ids.length < 2)
    throw new RuntimeError('EMPTY_PROMPT', 'perplexity needs a text of at least two tokens');
  const windows: number[][] = [];
  for (let from = 0; from + 1 < ids.length; from += window) windows.push(ids.slice(from, from + window));
  const tasks = windows.map((some) => async () => ({
    some,
    logits: await model.logits(some, signal ? { signal } : {}),
  }));
  let [sum, count, done] = [0, 0, 0];
  for await (const { some, logits } of inFlight(model.profile.plansInFlight ?? 1, tasks)) {
    sum += await negativeLogLikelihood(logits, some);
    count += some.length - 1;
    done += some.length;
    onProgress?.({ phase: 'perplexity', done, total: ids.length });
  }
  return { perplexity: Math.exp(sum / count), tokens: count };
}

const turn = 2 ** 21; // logits between two turns of the event loop: a few hundredths of a second

/** Σ −ln p(ids[t + 1]), from logits [T][V]. */
async function negativeLogLikelihood(
  logits: readonly Float32Array[],
  ids: readonly number[],
): Promise<number> {
  let [sum, read] = [0, 0];
  for (let t = 0; t + 1 < ids.length; t++) {
    sum -= logProbability(logits[t]!, ids[t + 1]!);
    read += logits[t]!.length;
    if (read < turn) continue;
    read = 0;
    await yieldToEventLoop();
  }
  return sum;
}

const { exp, log } = Math;

function logProbability(logits: Float32Array, id: number): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const logit of logits) if (logit > most) most = logit;
  let sum = 0;
  for (const logit of logits) sum += exp(logit - most);
  return logits[id]! - most - log(sum);
}
