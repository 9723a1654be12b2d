import { type Backend, checkOptions, rules, type Schema, showValue } from '@quern/core';
import { type SamplingOptions, samplingSchema } from '../engine/sampling/options.js';
import { badOption, needWhole, RuntimeError } from '../error.js';
import type { DraftingModel, DraftSource } from './draft-source.js';

interface SpeculateBase {
  /** Adapt the draft length to acceptance rate and cost; it may become 0. Default true; false: always maxDraft. */
  readonly adaptive?: boolean | undefined;
}

/** Drafts are copied from the prompt or the answer: the tokens after an earlier occurrence of the last n tokens. */
export interface SpeculateByLookup extends SpeculateBase {
  readonly kind: 'lookup';
  /** Most tokens of a draft, 1 to 64; default 10. */
  readonly maxDraft?: number | undefined;
  /** Longest n-gram to look for, 1 to 16 tokens; default 3. Without a match, shorter n-grams are tried. */
  readonly maxNgram?: number | undefined;
  /** Shortest n-gram to look for; default 1. */
  readonly minNgram?: number | undefined;
}

/** Drafts come from a smaller model. */
export interface SpeculateByDraft extends SpeculateBase {
  readonly kind: 'draft';
  /**
   * Another loaded model with the same vocabulary. Each generation holds one of its sequences: more concurrent
   * generations wait.
   */
  readonly model: DraftingModel;
  /** Most tokens of a draft, 1 to 64; default 8. */
  readonly maxDraft?: number | undefined;
}

/**
 * How next tokens are guessed; one step then checks several. Greedy generation gives the same tokens as without
 * speculation. Sampling draws from the same distribution; with lookup, even the same tokens for a seed. A step has at
 * most `profile.exactRows` rows, so that each row has the same bits as alone. A backend with exactRows = 1 is refused
 * with BAD_OPTION.
 */
export type SpeculateOptions = SpeculateByLookup | SpeculateByDraft;

const mostDraft = 64;
const mostNgram = 16;

const adaptive = {
  ...rules.flag,
  about: 'adapt the draft length to acceptance rate and cost; it may become 0',
  byDefault: true,
} as const;

const maxDraft = { ...rules.whole(1, mostDraft), about: 'most tokens of a draft' } as const;

/** What each option must be, and its default. */
export const lookupSchema = {
  kind: {
    ...rules.oneOf(['lookup']),
    about: 'drafts are copied from the prompt and the answer',
    required: true,
  },
  adaptive,
  maxDraft: { ...maxDraft, byDefault: 10 },
  maxNgram: {
    ...rules.whole(1, mostNgram),
    about: 'longest n-gram to look for, in tokens',
    byDefault: 3,
  },
  minNgram: {
    ...rules.whole(1, mostNgram),
    about: 'shortest n-gram to look for, in tokens; at most maxNgram',
    byDefault: 1,
  },
} as const satisfies Schema<SpeculateByLookup>;

export const draftSchema = {
  kind: { ...rules.oneOf(['draft']), about: 'a smaller model writes the drafts', required: true },
  adaptive,
  model: {
    must: 'another model, from loadModel',
    holds: (value): value is DraftingModel => rules.isObject(value) && typeof value.draftFor === 'function',
    about: 'the draft model, with the same vocabulary',
    required: true,
  },
  maxDraft: { ...maxDraft, byDefault: 8 },
} as const satisfies Schema<SpeculateByDraft>;

/** @throws RuntimeError BAD_OPTION */
export function needSpeculateOptions(options: SpeculateOptions): void {
  if (!rules.isObject(options))
    throw badOption(`[generate] speculate is ${showValue(options)}; it must be an object`, 'speculate');
  const { kind } = options;
  if (kind !== 'lookup' && kind !== 'draft')
    throw badOption(
      `[generate] speculate.kind is ${showValue(kind)}; it must be 'lookup' or 'draft'`,
      'kind',
    );
  checkOptions('generate', options, kind === 'draft' ? draftSchema : lookupSchema, badOption, 'speculate');
  if (kind === 'draft') return;
  const { maxNgram, minNgram } = ngramsOf(options);
  needWhole('[generate] speculate.minNgram', minNgram, 1, maxNgram);
}

/** Checking several drafts in one step must not change the text. @throws RuntimeError BAD_OPTION */
export function needExactRows({ name, profile: { exactRows = 1 } }: Backend): void {
  if (exactRows > 1) return;
  throw new RuntimeError(
    'BAD_OPTION',
    `speculate needs a backend in which the rows of a step get the bits that each has alone, or drafts could change the text; ` +
      `'${name}' promises that for ${exactRows} row (profile.exactRows). Generate without speculate, or with another backend`,
  );
}

/**
 * Drafts that are drawn at random decide which tokens are drawn: with `deterministic`, the draft model must repeat them, too. The
 * likeliest tokens of a draft model do not change a text.
 * @throws RuntimeError BAD_OPTION
 */
export function needRepeatableDrafts(
  draft: DraftSource,
  target: { readonly deterministic: boolean },
  { temperature = samplingSchema.temperature.byDefault }: SamplingOptions,
): void {
  if (!target.deterministic || draft.deterministic || temperature === 0) return;
  throw badOption(
    '[generate] speculate.model was loaded without deterministic, and the model with it: what runs beside the draft model could then ' +
      'change a sampled text. Load the draft model with deterministic: true, or generate with temperature 0',
    'speculate',
  );
}

/** The n-gram lengths, with their defaults. */
export const ngramsOf = ({ maxNgram = 3, minNgram = 1 }: SpeculateByLookup) => ({ maxNgram, minNgram });
