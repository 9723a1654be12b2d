import { checkOptions, pickOptions, QuernError, type Refuse, rules, type Schema } from '@quern/core';

/** Stable codes of sampling errors. */
export type SamplingErrorCode =
  | 'BAD_OPTION' // a sampling option of a wrong type, out of its range, or unknown
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_LOGITS'; // unusable logits: NaN, +Infinity, all -Infinity, or a wrong length

/** Thrown by the constructor of a sampler and by sampling. */
export class SamplingError extends QuernError<SamplingErrorCode> {
  static override readonly className: string = 'SamplingError';
}

/** Options of sampling. The defaults are llama.cpp's. */
export interface SamplingOptions {
  /** 0: always the likeliest token; higher: more varied. ≥ 0, default 0.8. */
  temperature?: number | undefined;
  /** Keep only the `topK` likeliest tokens; 0: all. Default 40. */
  topK?: number | undefined;
  /** Keep only the likeliest tokens whose probabilities together reach this value; 1: all. In (0, 1], default 0.95. */
  topP?: number | undefined;
  /** Keep only tokens at least this fraction as likely as the likeliest; 0: all. In [0, 1], default 0.05. */
  minP?: number | undefined;
  /** For recent tokens: positive logits are divided by it, negative ones multiplied; 1: off. > 0, default 1. */
  repetitionPenalty?: number | undefined;
  /** Subtracted once from the logit of each recent token. Finite, default 0. */
  presencePenalty?: number | undefined;
  /** Subtracted from the logit of a recent token once per occurrence. Finite, default 0. */
  frequencyPenalty?: number | undefined;
  /** The number of last tokens that count as recent; 0: none; -1: all. Default 64. */
  penaltyWindow?: number | undefined;
  /** Added to the logits, by token id; -Infinity bans a token. */
  logitBias?: Readonly<Record<number, number>> | ReadonlyMap<number, number> | undefined;
  /** The same seed and logits give the same tokens. Integer from 0 to 2^64 - 1; default: random. */
  seed?: number | bigint | undefined;
}

/** All options, checked. temperature and topP are f32, as devices compute. */
export interface ResolvedOptions {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repetitionPenalty: number;
  presencePenalty: number;
  frequencyPenalty: number;
  penaltyWindow: number;
  logitBias: ReadonlyMap<number, number>;
  seed: bigint;
}

/** What each option must be, and its default. */
export const samplingSchema = {
  temperature: {
    ...rules.float32,
    about: 'randomness of the text; 0: always the likeliest token',
    byDefault: 0.8,
  },
  topK: { ...rules.whole(0), about: 'keep only the k likeliest tokens; 0: all', byDefault: 40 },
  topP: {
    ...rules.shareAboveZero,
    about: 'keep only the likeliest tokens whose probabilities together reach this value; 1: all',
    byDefault: 0.95,
  },
  minP: {
    ...rules.share,
    about: 'keep only tokens at least this fraction as likely as the likeliest; 0: all',
    byDefault: 0.05,
  },
  repetitionPenalty: {
    ...rules.aboveZero,
    about: 'for recent tokens: positive logits are divided by it, negative ones multiplied; 1: off',
    byDefault: 1,
  },
  presencePenalty: {
    ...rules.finite,
    about: 'subtracted once from the logits of recent tokens',
    byDefault: 0,
  },
  frequencyPenalty: {
    ...rules.finite,
    about: 'subtracted from the logits of recent tokens, once per occurrence',
    byDefault: 0,
  },
  penaltyWindow: {
    ...rules.whole(-1),
    about: 'number of last tokens that count as recent; 0: none; -1: all',
    byDefault: 64,
  },
  logitBias: {
    ...rules.object,
    must: 'an object or a Map from token ids to finite numbers or -Infinity',
    about: 'added to the logits, by token id; -Infinity bans a token',
    absent: 'none',
  },
  seed: { ...rules.seed, about: 'the same seed and logits give the same tokens', absent: 'random' },
} as const satisfies Schema<SamplingOptions>;

/** The sampling options of `options`. */
export const samplingOf = (options: SamplingOptions): SamplingOptions =>
  pickOptions(options, Object.keys(samplingSchema) as (keyof SamplingOptions)[]);

const refuse: Refuse = (message) => new SamplingError('BAD_OPTION', message);

/** @throws SamplingError BAD_OPTION */
export const checkSampling = (where: string, options: unknown): void =>
  checkOptions(where, options, samplingSchema, refuse);

type NumberName = Exclude<keyof SamplingOptions, 'logitBias' | 'seed'>;

/**
 * Options with defaults filled in.
 * @throws SamplingError BAD_OPTION for a token id outside the vocabulary in logitBias
 */
export function resolveOptions(options: SamplingOptions, vocabSize?: number): ResolvedOptions {
  const number = (name: NumberName): number => options[name] ?? samplingSchema[name].byDefault;
  return {
    temperature: Math.fround(number('temperature')),
    topK: number('topK'),
    topP: Math.fround(number('topP')),
    minP: number('minP'),
    repetitionPenalty: number('repetitionPenalty'),
    presencePenalty: number('presencePenalty'),
    frequencyPenalty: number('frequencyPenalty'),
    penaltyWindow: number('penaltyWindow'),
    logitBias: resolveBias(options.logitBias ?? {}, vocabSize),
    seed: resolveSeed(options.seed),
  };
}

function resolveBias(
  bias: NonNullable<SamplingOptions['logitBias']>,
  vocabSize = Number.POSITIVE_INFINITY,
): Map<number, number> {
  const entries = bias instanceof Map ? [...bias] : Object.entries(bias);
  if (entries.length >= vocabSize && entries.every(([, value]) => value === Number.NEGATIVE_INFINITY))
    throw badBias('logitBias', `-Infinity for all ${vocabSize} tokens`, 'finite for at least one');
  return new Map(
    entries.map(([key, value]) => {
      const id = Number(key);
      if (!Number.isSafeInteger(id) || id < 0 || id >= vocabSize) {
        const last = Number.isFinite(vocabSize) ? ` to ${vocabSize - 1}` : '';
        throw badBias('logitBias', `for token ${key}`, `for token ids from 0${last}`);
      }
      if (Number.isFinite(value) || value === Number.NEGATIVE_INFINITY) return [id, value];
      throw badBias(`logitBias[${id}]`, value, 'finite or -Infinity');
    }),
  );
}

const resolveSeed = (seed: number | bigint | undefined): bigint =>
  seed === undefined ? crypto.getRandomValues(new BigUint64Array(1))[0]! : BigInt(seed);

const badBias = (name: string, value: unknown, range: string) =>
  new SamplingError('BAD_OPTION', `sampling option ${name} is ${String(value)}; it must be ${range}`);
