import { BackendError } from './error.js';

/** Values of rope's `layout` attribute: which elements of a head rotate together. */
export const ropeLayouts = {
  /** (0, 1), (2, 3), … as in Meta's Llama and GGUF's llama. */
  interleaved: 0,
  /** (0, R/2), (1, R/2 + 1), … as in Hugging Face and GGUF's qwen. */
  halves: 1,
} as const;
export type RopeLayout = keyof typeof ropeLayouts;

/** How a model extends positions beyond its training context. */
export type RopeScaling =
  /** Positions divided by `factor`. */
  | { readonly kind: 'linear'; readonly factor: number }
  /** A larger base: theta · factor^(R / (R − 2)). */
  | { readonly kind: 'ntk'; readonly factor: number }
  /** Peng et al. 2023, YaRN: high frequencies unchanged, low frequencies divided, a ramp between. */
  | {
      readonly kind: 'yarn';
      readonly factor: number;
      readonly originalContext: number;
      readonly betaFast?: number;
      readonly betaSlow?: number;
      /** False: the ends of the ramp are not rounded to whole pairs. */
      readonly truncate?: boolean;
      /** Factor on cos and sin; absent: 0.1 · ln(factor) + 1. */
      readonly attentionFactor?: number;
    }
  /** Llama 3.1: similar to YaRN, with bounds as wavelengths relative to the original context. */
  | {
      readonly kind: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalContext: number;
    }
  /** Each frequency divided by its own factor (the tensor rope_freqs of GGUF files; LongRoPE). */
  | { readonly kind: 'factors'; readonly factors: readonly number[]; readonly attentionFactor?: number };

export interface RopeOptions {
  /** Base of the frequencies: theta^(−2i / R). */
  readonly theta: number;
  /** R, rotated elements of a head, even; absent: all. */
  readonly rotaryDim?: number;
  readonly layout: RopeLayout;
  readonly scaling?: RopeScaling;
}

/** Angular frequency of each pair, and the factor on cos and sin. */
export interface RopeFrequencies {
  readonly frequencies: Float32Array;
  readonly magnitude: number;
}

const plain = (theta: number, R: number) => Array.from({ length: R / 2 }, (_, i) => theta ** ((-2 * i) / R));

/** Share of the stretched frequency per pair: 0 for fast pairs, 1 for slow ones (YaRN, §3.2). */
function yarnRamp(theta: number, R: number, s: Extract<RopeScaling, { kind: 'yarn' }>): number[] {
  const pairOf = (rotations: number) =>
    (R * Math.log(s.originalContext / (rotations * 2 * Math.PI))) / (2 * Math.log(theta));
  const [first, last] = [pairOf(s.betaFast ?? 32), pairOf(s.betaSlow ?? 1)];
  const isRounded = s.truncate !== false;
  const low = Math.max(0, isRounded ? Math.floor(first) : first);
  const high = Math.min(R - 1, isRounded ? Math.ceil(last) : last);
  const width = Math.max(high - low, 0.001);
  return Array.from({ length: R / 2 }, (_, i) => Math.min(1, Math.max(0, (i - low) / width)));
}

function llama3Frequency(frequency: number, s: Extract<RopeScaling, { kind: 'llama3' }>): number {
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < s.originalContext / s.highFrequencyFactor) return frequency;
  if (wavelength > s.originalContext / s.lowFrequencyFactor) return frequency / s.factor;
  const smooth =
    (s.originalContext / wavelength - s.lowFrequencyFactor) / (s.highFrequencyFactor - s.lowFrequencyFactor);
  return ((1 - smooth) * frequency) / s.factor + smooth * frequency;
}

function scaled(theta: number, R: number, scaling: RopeScaling): { values: number[]; magnitude: number } {
  const frequencies = plain(theta, R);
  switch (scaling.kind) {
    case 'linear':
      return { values: frequencies.map((f) => f / scaling.factor), magnitude: 1 };
    case 'ntk':
      return { values: plain(theta * scaling.factor ** (R / (R - 2)), R), magnitude: 1 };
    case 'yarn': {
      const ramp = yarnRamp(theta, R, scaling);
      const values = frequencies.map((f, i) => (f / scaling.factor) * ramp[i]! + f * (1 - ramp[i]!));
      return { values, magnitude: scaling.attentionFactor ?? 0.1 * Math.log(scaling.factor) + 1 };
    }
    case 'llama3':
      return { values: frequencies.map((f) => llama3Frequency(f, scaling)), magnitude: 1 };
    case 'factors':
      if (scaling.factors.length !== R / 2)
        throw new BackendError(
          'BAD_SHAPE',
          `[rope] needs ${R / 2} frequency factors (R / 2); got ${scaling.factors.length}`,
        );
      return {
        values: frequencies.map((f, i) => f / scaling.factors[i]!),
        magnitude: scaling.attentionFactor ?? 1,
      };
  }
}

/** Frequencies of a head of `headDim` elements. Throws BAD_ARGUMENT or BAD_SHAPE. */
export function ropeFrequencies(options: RopeOptions, headDim: number): RopeFrequencies {
  const R = options.rotaryDim ?? headDim;
  if (!Number.isInteger(R / 2) || R < 2 || R > headDim)
    throw new BackendError(
      'BAD_ARGUMENT',
      `[rope] rotaryDim must be even, from 2 to the head's ${headDim}; got ${R}`,
    );
  if (!(options.theta > 0))
    throw new BackendError('BAD_ARGUMENT', `[rope] theta must be above 0; got ${options.theta}`);
  if (!options.scaling) return { frequencies: Float32Array.from(plain(options.theta, R)), magnitude: 1 };
  const { values, magnitude } = scaled(options.theta, R, options.scaling);
  return { frequencies: Float32Array.from(values), magnitude };
}
