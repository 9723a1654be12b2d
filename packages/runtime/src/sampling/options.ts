import { SamplingError } from './error.js';

/** How the next token is chosen. The defaults are llama.cpp's. */
export interface SamplingOptions {
  /** 0 takes the likeliest token always; higher is more varied. ≥ 0, default 0.8. */
  temperature?: number;
  /** Only the `topK` likeliest tokens; 0: all. Default 40. */
  topK?: number;
  /** Only the likeliest tokens that together reach this probability; 1: all. In (0, 1], default 0.95. */
  topP?: number;
  /** Only tokens at least this fraction as likely as the likeliest; 0: all. In [0, 1], default 0.05. */
  minP?: number;
  /** Divides positive logits, and multiplies negative ones, of recent tokens; 1: off. > 0, default 1. */
  repetitionPenalty?: number;
  /** Subtracted once from the logit of a recent token. Finite, default 0. */
  presencePenalty?: number;
  /** Subtracted from the logit of a recent token as often as it occurs. Finite, default 0. */
  frequencyPenalty?: number;
  /** How many of the last tokens are recent; 0: none; -1: all. Default 64. */
  penaltyWindow?: number;
  /** Added to logits by token id; -Infinity bans a token. */
  logitBias?: Readonly<Record<number, number>> | ReadonlyMap<number, number>;
  /** The same seed and logits give the same tokens. An integer from 0 to 2^64 - 1; default: a random one. */
  seed?: number | bigint;
}

/** Every option, checked; temperature and topP as f32, which devices sample with. */
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

interface Range {
  byDefault: number;
  holds: (value: number) => boolean;
  text: string;
}

const finite = { holds: Number.isFinite, text: 'a finite number' };
const integerFrom = (least: number) => ({
  holds: (value: number) => Number.isSafeInteger(value) && value >= least,
  text: `a whole number from ${least}`,
});

const RANGES = {
  temperature: {
    byDefault: 0.8,
    holds: (t) => t >= 0 && Math.fround(t) < Number.POSITIVE_INFINITY,
    text: 'finite and at least 0',
  },
  topK: { byDefault: 40, ...integerFrom(0) },
  topP: { byDefault: 0.95, holds: (p) => p > 0 && p <= 1, text: 'above 0 and at most 1' },
  minP: { byDefault: 0.05, holds: (p) => p >= 0 && p <= 1, text: 'from 0 to 1' },
  repetitionPenalty: {
    byDefault: 1,
    holds: (r) => r > 0 && r < Number.POSITIVE_INFINITY,
    text: 'finite and above 0',
  },
  presencePenalty: { byDefault: 0, ...finite },
  frequencyPenalty: { byDefault: 0, ...finite },
  penaltyWindow: { byDefault: 64, ...integerFrom(-1) },
} satisfies Record<Exclude<keyof SamplingOptions, 'logitBias' | 'seed'>, Range>;

/** @throws SamplingError BAD_OPTION */
export function resolveOptions(options: SamplingOptions, vocabSize?: number): ResolvedOptions {
  const number = (name: keyof typeof RANGES): number => {
    const range: Range = RANGES[name];
    const value = options[name] ?? range.byDefault;
    if (typeof value === 'number' && range.holds(value)) return value;
    throw badOption(name, value, range.text);
  };
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
  return new Map(
    entries.map(([key, value]) => {
      const id = Number(key);
      if (!Number.isSafeInteger(id) || id < 0 || id >= vocabSize) {
        const last = Number.isFinite(vocabSize) ? ` to ${vocabSize - 1}` : '';
        throw badOption('logitBias', `for token ${key}`, `for token ids from 0${last}`);
      }
      if (Number.isFinite(value) || value === Number.NEGATIVE_INFINITY) return [id, value];
      throw badOption(`logitBias[${id}]`, value, 'finite or -Infinity');
    }),
  );
}

function resolveSeed(seed: number | bigint | undefined): bigint {
  if (seed === undefined) return crypto.getRandomValues(new BigUint64Array(1))[0]!;
  const isWhole = typeof seed === 'bigint' || Number.isSafeInteger(seed);
  if (isWhole && seed >= 0 && BigInt(seed) < 1n << 64n) return BigInt(seed);
  throw badOption('seed', seed, 'a whole number from 0 to 2^64 - 1 (a bigint above 2^53)');
}

const badOption = (name: string, value: unknown, range: string) =>
  new SamplingError('BAD_OPTION', `sampling option ${name} is ${String(value)}; it must be ${range}`);
