import type { Constraint } from '../../structured/constraint.js';
import type { Distribution } from './distribution.js';
import { logMinP } from './filter.js';
import type { TokenLogprobs } from './logprobs.js';
import { checkSampling, type ResolvedOptions, resolveOptions, type SamplingOptions } from './options.js';
import { Random } from './random.js';
import { RecentTokens } from './recent-tokens.js';

/**
 * How the next tokens of a sequence are chosen. One pipeline reads it: bias, penalties, mask, filters, draw,
 * log-probabilities. It is recorded for devices (`record.ts`) and defined for the host (`pipeline.ts`).
 */
export interface SamplingParams extends Readonly<ResolvedOptions> {
  /** [4]: temperature, top-k, top-p, ln min-p, as the op `sample` reads them. */
  readonly settings: Float32Array;
  /** [3]: repetition, presence, frequency, as the op `penalise` reads them. */
  readonly strengths: Float32Array;
  /** The seed's numbers: one per draw. */
  readonly random: Random;
  /** The tokens that penalties count; undefined: there are no penalties. */
  readonly recent: RecentTokens | undefined;
  /** Which tokens may come next; undefined: every token. */
  readonly constraint: Constraint | undefined;
  /** How many of the likeliest tokens' log-probabilities are wanted; undefined: none, nor the token's own. */
  readonly logprobs: number | undefined;
  /** Whether each token comes with the distribution that it was drawn from: a draft for another model. */
  readonly distributions: boolean;
}

/** The sampling of one sequence's rows in a step. */
export interface RowSampling {
  readonly params: SamplingParams;
  /**
   * [outputs, V / 32]: one bit per token, as the op `maskLogits` reads them: may it come next, and after each draft?
   * Undefined: every token may.
   */
  readonly masks: Int32Array | undefined;
}

/** A chosen token. */
export interface SampledToken {
  readonly token: number;
  /** If they were wanted. */
  readonly logprobs?: TokenLogprobs | undefined;
  /** With `distributions`. */
  readonly from?: Distribution | undefined;
}

/** Settings that take the likeliest token, as `argmax` does: one is found even among NaN. */
export const greedy = Float32Array.of(0, 0, 1, Number.NEGATIVE_INFINITY);

/** Settings that take the likeliest token (top-k 1); broken logits (NaN) give `noToken`. */
const likeliest = Float32Array.of(1, 1, 1, Number.NEGATIVE_INFINITY);

type Inputs = Partial<Pick<SamplingParams, 'constraint' | 'logprobs'>>;

/** @throws SamplingError BAD_OPTION */
export function samplingParams(
  options: SamplingOptions,
  vocabulary?: number,
  { constraint, logprobs }: Inputs = {},
): SamplingParams {
  checkSampling('Sampler', options);
  const resolved = resolveOptions(options, vocabulary);
  const { repetitionPenalty, presencePenalty, frequencyPenalty, penaltyWindow } = resolved;
  const strengths = Float32Array.of(repetitionPenalty, presencePenalty, frequencyPenalty);
  const changes = repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
  const recent = changes && penaltyWindow !== 0 ? new RecentTokens(penaltyWindow) : undefined;
  const settings = settingsOf(resolved, recent);
  const random = new Random(resolved.seed);
  return { ...resolved, settings, strengths, random, recent, constraint, logprobs, distributions: false };
}

function settingsOf(options: ResolvedOptions, recent: RecentTokens | undefined): Float32Array {
  const { temperature, topK, topP, minP, logitBias } = options;
  if (temperature > 0) return Float32Array.of(temperature, topK, topP, logMinP(minP));
  return recent || logitBias.size > 0 ? likeliest : greedy;
}

/** The same for the first token of a text, where broken weights (NaN) must show: `argmax` does not show them. */
export const forFirstToken = (params: SamplingParams): SamplingParams =>
  params.settings === greedy ? { ...params, settings: likeliest } : params;

/** The same for drafts of another model: the same random numbers, and own copies of what follows the tokens. */
export const forDrafts = (params: SamplingParams): SamplingParams => ({
  ...params,
  recent: params.recent?.with([]),
  constraint: params.constraint?.fork(),
  logprobs: undefined,
  distributions: params.settings !== greedy,
});

/** Adds a token to the text that penalties and the constraint follow. */
export function acceptToken({ recent, constraint }: SamplingParams, token: number): void {
  recent?.accept(token);
  constraint?.accept(token);
}

/** Those of `tokens` before the first that the logit bias forbids. */
export function unbiased({ logitBias }: SamplingParams, tokens: readonly number[]): readonly number[] {
  const first = tokens.findIndex((token) => logitBias.get(token) === Number.NEGATIVE_INFINITY);
  return first < 0 ? tokens : tokens.slice(0, first);
}
