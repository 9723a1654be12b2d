import { badOption } from '../../error.js';
import { adjust, restore } from './adjust.js';
import {
  acceptOrRedraw,
  certain,
  type Distribution,
  draw,
  drawFrom,
  type Proposal,
  softmaxOf,
} from './distribution.js';
import { candidates, minPFilter } from './filter.js';
import { logprobsOf, type TokenLogprobs } from './logprobs.js';
import { SamplingError } from './options.js';
import { acceptToken, type SampledToken, type SamplingParams } from './params.js';
import { type Ranked, rank, rankedCandidates } from './ranked.js';
import type { RecentTokens } from './recent-tokens.js';
import type { RowOutput } from './record.js';
import { argmax, masked } from './select.js';

/** What is given for a row beside its output. */
export interface RowInputs {
  /** [V / 32]: the tokens that may be chosen. */
  readonly mask?: Int32Array | undefined;
  /** The token that was guessed here. The row has logits. */
  readonly proposal?: Proposal | undefined;
  /** The token that must be chosen here. */
  readonly forced?: number | undefined;
}

/** What the host's pipeline reads beside logits. */
export interface HostInputs extends Pick<RowInputs, 'mask'> {
  /** The likeliest tokens in order, before any change: where they suffice, not all logits are read. */
  readonly best?: Int32Array | undefined;
  /** In place of the parameters'. */
  readonly recent?: RecentTokens | undefined;
}

/** The device's token for a row where no token can be drawn. */
export const noToken = -1;

/**
 * The token of a row with an output, drawn by the device or by the host; the parameters go on by it. `row` is valid only
 * during the call: the next step overwrites it.
 * @throws SamplingError BAD_LOGITS
 * @throws RuntimeError BAD_OPTION where the logit bias forbids every token that the constraint allows
 */
export function takeToken(params: SamplingParams, row: RowOutput, inputs: RowInputs = {}): SampledToken {
  const { token, from } = choose(params, row, inputs);
  const logprobs = readLogprobs(params, row, token);
  acceptToken(params, token);
  return { token, logprobs, from };
}

function choose(
  params: SamplingParams,
  { best, logits }: RowOutput,
  { mask, proposal, forced }: RowInputs,
): SampledToken {
  if (forced !== undefined) return { token: forced };
  try {
    if (!logits) return { token: drawnToken(params, best[0]!) };
    if (params.distributions) return proposed(params, logits, mask);
    if (!proposal) return { token: sampleLogits(params, logits, { best, mask }) };
    const wanted = distributionOf(params, logits, { mask });
    return { token: acceptOrRedraw(wanted, proposal, () => params.random.nextDouble()) };
  } catch (error) {
    if (error instanceof SamplingError && error.code === 'BAD_LOGITS') assertUnbiased(params);
    throw error;
  }
}

/** The device's token, which took the place of the next random number. */
function drawnToken({ temperature, random }: SamplingParams, token: number): number {
  if (token === noToken)
    throw new SamplingError(
      'BAD_LOGITS',
      'no logit is above -Infinity, or one is Infinity: the model or its computation is broken',
    );
  if (temperature > 0) random.nextDouble();
  return token;
}

function proposed(params: SamplingParams, logits: Float32Array, mask: Int32Array | undefined): SampledToken {
  const from = distributionOf(params, logits, { mask });
  return { token: drawFrom(from, params.random.nextDouble()), from };
}

/**
 * The next token; the same with and without `best`. Where `best` suffices, a NaN among the unread logits counts as
 * -Infinity.
 * @param logits [V]; changed during the call, restored afterwards
 * @throws SamplingError BAD_LOGITS
 */
export function sampleLogits(params: SamplingParams, logits: Float32Array, inputs: HostInputs): number {
  const { temperature, random } = params;
  return changed(params, logits, inputs, (allowed, ranked) =>
    temperature === 0
      ? (ranked?.tokens[0] ?? argmax(allowed))
      : draw(allowed, filtered(params, allowed, ranked), temperature, random.nextDouble()),
  );
}

/** The distribution of `sampleLogits`. */
export function distributionOf(
  params: SamplingParams,
  logits: Float32Array,
  inputs: HostInputs,
): Distribution {
  const { temperature } = params;
  return changed(params, logits, inputs, (allowed) =>
    temperature === 0
      ? certain(argmax(allowed))
      : softmaxOf(allowed, filtered(params, allowed, undefined), temperature),
  );
}

/** Bias, penalties and mask: calls `act` with the changed logits and what is known of their order. */
function changed<T>(
  params: SamplingParams,
  logits: Float32Array,
  { best, mask, recent = params.recent }: HostInputs,
  act: (logits: Float32Array, ranked: Ranked | undefined) => T,
): T {
  const originals = adjust(logits, params, recent);
  try {
    if (mask) return act(masked(logits, mask), undefined);
    return act(logits, best && rank(logits, best, originals));
  } finally {
    restore(logits, originals);
  }
}

/** The tokens that the filters keep. */
function filtered(params: SamplingParams, logits: Float32Array, ranked: Ranked | undefined): Int32Array {
  const { topK, topP, minP } = params;
  const known = ranked && rankedCandidates(logits, ranked, params);
  return known ?? minPFilter(logits, candidates(logits, topK, topP), minP);
}

function readLogprobs(
  { logprobs: count }: SamplingParams,
  { logprobs, logits, best }: RowOutput,
  token: number,
): TokenLogprobs | undefined {
  if (count === undefined) return undefined;
  if (!logprobs) return logprobsOf(logits!, best, token, count);
  const { chosen, tops, topLogprobs } = logprobs;
  const top = Array.from(tops.subarray(0, count), (id, i) => ({ token: id, logprob: topLogprobs[i]! }));
  return { token, logprob: chosen, top };
}

/** @throws RuntimeError BAD_OPTION where no allowed token is left */
function assertUnbiased({ constraint, logitBias }: SamplingParams): void {
  const allowed = constraint?.allowedTokens() ?? [];
  if (allowed.length === 0 || !allowed.every((token) => logitBias.get(token) === Number.NEGATIVE_INFINITY))
    return;
  const more = allowed.length > 8 ? ' …' : '';
  throw badOption(
    `logitBias forbids every token that the schema, grammar or tools allow here (${allowed.length}: ${allowed.slice(0, 8).join(', ')}${more}): allow one of them`,
    'logitBias',
  );
}
