import type { GeluForm, LayerState, MoeRouting, RopeOptions } from '@quern/core';
import type { Settings } from './settings.js';

/** The sizes and constants of a decoder-only transformer: a forward pass needs these and the weights. */
export interface DecoderConfig {
  readonly layers: number;
  /** D, the width of the residual stream. */
  readonly width: number;
  /** H, query heads. */
  readonly heads: number;
  /** Hk, key/value heads; divides H. */
  readonly kvHeads: number;
  /** d, elements per head; H · d ≠ D is allowed. */
  readonly headDim: number;
  /** F, the inner width of the feed-forward. */
  readonly feedForward: number;
  /** V, rows of the embedding. */
  readonly vocabulary: number;
  /** ε of the norms. */
  readonly normEps: number;
  /** RoPE of every layer, unless `windowRope` or `shortRope` applies. */
  readonly rope: RopeOptions;
  /** Pairs of a head that turn by each coordinate of a position (M-RoPE); text has one coordinate, thrice (Qwen3-VL). */
  readonly ropeSections?: readonly number[];
  /** RoPE of layers with a window, if different (Gemma 3). */
  readonly windowRope?: RopeOptions;
  /** RoPE in caches of at most `context` tokens, if different (LongRoPE). */
  readonly shortRope?: { readonly context: number; readonly rope: RopeOptions };
  /** Per layer: q and k are not rotated ('NoPE'); absent: every layer rotates (SmolLM3). */
  readonly unrotated?: readonly boolean[];
  /** Attention and feed-forward of a layer read the same normed x (Phi-2); absent: the feed-forward reads their sum. */
  readonly parallel?: boolean;
  /** Blocks side by side have a norm each (Falcon 40B); absent: they share it, or the weight table says. */
  readonly twoNorms?: boolean;
  /** The gelu of the feed-forward; absent: 'tanh', which llama.cpp computes: GGUF files do not say. */
  readonly gelu?: GeluForm;
  /** Factors on the embedding's rows, on what each block adds, and on the logits; absent: 1 (Granite). */
  readonly embeddingFactor?: number;
  readonly residualFactor?: number;
  readonly logitFactor?: number;
  /** Factor on q·k; absent: 1/√d. */
  readonly attentionScale?: number;
  /** q of position p is multiplied by 1 + scale · ln(1 + ⌊p / length⌋); absent: off (Ministral 3). */
  readonly attentionTemperature?: { readonly scale: number; readonly length: number };
  /** Scores become cap · tanh(score / cap); absent: off (Gemma 2). */
  readonly attentionCap?: number;
  /** Logits become cap · tanh(logit / cap); absent: off (Gemma 2). */
  readonly logitCap?: number;
  /** Trained context in tokens. Longer caches work as far as RoPE extrapolates. */
  readonly context: number;
  /** Rows of a table of learned positions (GPT-2): no cache can be longer. Absent: no such table. */
  readonly positionRows?: number;
  /** Per layer: positions that a query sees, its own included; 0: all. */
  readonly windows: readonly number[];
  /** The output projection is the embedding. */
  readonly tied: boolean;
  /** Per layer: what it keeps between steps, if not keys and values of `kvHeads` heads of `headDim` values. */
  readonly layerStates?: readonly (LayerState | undefined)[];
  /** Layers that follow these in the file and predict further tokens (NextN); they are not read. */
  readonly nextN?: number;
  /** Of layers with a gated delta rule (Qwen3-Next). */
  readonly deltaRule?: DeltaRuleConfig;
  /** For models with a mixture of experts. */
  readonly mixture?: MixtureConfig;
}

/** The sizes of a gated delta rule. */
export interface DeltaRuleConfig {
  /** Hk: heads of q and k. */
  readonly keyHeads: number;
  /** Hv: heads of v and of the state; a multiple of Hk. */
  readonly valueHeads: number;
  /** dk. */
  readonly keyDim: number;
  /** dv. */
  readonly valueDim: number;
  /** Inputs of the convolutions. */
  readonly taps: number;
  /** Value head h goes with key head h mod Hk, as in llama.cpp's files; else with ⌊h / (Hv / Hk)⌋. */
  readonly tiled: boolean;
}

/** The mixture of experts in sparse layers. */
export interface MixtureConfig extends MoeRouting {
  /** The inner width of one expert. */
  readonly feedForward: number;
  /** Per layer: mixture (true) or dense (false). */
  readonly sparse: readonly boolean[];
  /** Scores of the experts; absent: a softmax. */
  readonly score?: 'sigmoid';
  /** Groups of experts: those of the best `chosen` groups can be chosen; absent: all can (DeepSeek-V3). */
  readonly groups?: { readonly count: number; readonly chosen: number };
  /** Factor on the weights of the chosen experts; absent: 1. */
  readonly scale?: number;
  /** The inner width of the shared expert, which computes every row; absent: none. */
  readonly sharedFeedForward?: number;
  /** The experts compute g · σ(alpha · g) · (u + 1) of clamped g and u; absent: silu(g) · u (gpt-oss). */
  readonly clamped?: ClampedGate;
}

/** g is at most `limit`, u within ±`limit`. */
export interface ClampedGate {
  readonly alpha: number;
  readonly limit: number;
}

/** Upper bounds of sizes: far above any model, low enough that a broken file cannot exhaust memory. */
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

/** Keys of the head settings in one kind of file. */
export interface HeadKeys {
  readonly heads: string;
  readonly kvHeads: string;
  readonly headDim: string;
}

/**
 * Head counts and head size. Default size: width / heads.
 * @throws ModelError BAD_CONFIG for a contradiction.
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
