import type { MoeRouting, RopeOptions } from '@quern/core';
import type { Settings } from './settings.js';

/** The sizes and constants of a decoder-only transformer: all that a forward pass needs besides its weights. */
export interface DecoderConfig {
  readonly layers: number;
  /** D, the width of the residual stream. */
  readonly width: number;
  /** H, query heads. */
  readonly heads: number;
  /** Hk, key/value heads; H is a multiple of it. */
  readonly kvHeads: number;
  /** d, elements per head; H · d need not be D. */
  readonly headDim: number;
  /** F, the inner width of the feed-forward. */
  readonly feedForward: number;
  /** V, rows of the embedding. */
  readonly vocabulary: number;
  readonly rmsEps: number;
  /** The rotation of every layer, but for the next two. */
  readonly rope: RopeOptions;
  /** The rotation of layers with a window, where it is another (Gemma 3). */
  readonly windowRope?: RopeOptions;
  /** The rotation in caches of at most `context` tokens, where it is another (LongRoPE). */
  readonly shortRope?: { readonly context: number; readonly rope: RopeOptions };
  /** Factor on q·k; absent: 1/√d. */
  readonly attentionScale?: number;
  /** Scores become cap · tanh(score / cap); absent: off (Gemma 2). */
  readonly attentionCap?: number;
  /** Logits become cap · tanh(logit / cap); absent: off (Gemma 2). */
  readonly logitCap?: number;
  /** Tokens the model was made for. A longer cache works as far as its rotation extrapolates. */
  readonly context: number;
  /** Per layer, how many positions a query looks back, its own included; 0: all. */
  readonly windows: readonly number[];
  /** The embedding serves as output projection. */
  readonly tied: boolean;
  /** Present where feed-forwards are mixtures of experts. */
  readonly mixture?: MixtureConfig;
}

/** How the feed-forwards of sparse layers are made. */
export interface MixtureConfig extends MoeRouting {
  /** The inner width of one expert. */
  readonly feedForward: number;
  /** Per layer: whether its feed-forward is a mixture, or dense. */
  readonly sparse: readonly boolean[];
}

/** The largest sizes that are believed: far above any model, low enough that a broken file cannot exhaust memory. */
export const limits = {
  layers: 10_000,
  width: 2 ** 20,
  heads: 2 ** 14,
  headDim: 2 ** 14,
  feedForward: 2 ** 22,
  experts: 2 ** 14,
  vocabulary: 2 ** 24,
  context: 2 ** 31 - 1,
} as const;

/** Names of the settings that hold the heads, in one kind of file. */
export interface HeadKeys {
  readonly heads: string;
  readonly kvHeads: string;
  readonly headDim: string;
}

/**
 * Heads and their size; without a size of its own, a head takes width / heads.
 * @throws ModelError BAD_CONFIG where they contradict each other.
 */
export function readHeads(settings: Settings, keys: HeadKeys, width: number) {
  const heads = settings.whole(keys.heads, limits.heads);
  const kvHeads = settings.whole(keys.kvHeads, limits.heads, heads);
  if (heads % kvHeads !== 0) settings.fail(keys.kvHeads, `a divisor of ${keys.heads}, which is ${heads}`);
  if (!settings.has(keys.headDim) && width % heads !== 0)
    settings.fail(keys.heads, `a divisor of the width ${width}, or ${keys.headDim} beside it`);
  const headDim = settings.whole(keys.headDim, limits.headDim, width / heads);
  if (headDim % 2 !== 0)
    settings.fail(
      settings.has(keys.headDim) ? keys.headDim : keys.heads,
      `heads of an even size; they have ${headDim}`,
    );
  return { heads, kvHeads, headDim };
}

/** The same window for every layer; 0: none. */
export const sameWindow = (layers: number, window: number): number[] =>
  Array.from({ length: layers }, () => window);
