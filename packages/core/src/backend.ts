import type { AttnConfig } from './attention-config.js';
import type { Capabilities } from './capability/index.js';
import type { DeviceCeilings, DeviceProfile, MeasureOptions } from './device-profile.js';
import type { AttentionBatch, UncachedBatch } from './kv/batch.js';
import type { KvBuffer, KvSpec } from './kv/kv-buffer.js';
import type { KvLayer } from './kv/kv-cache.js';
import type { CastTarget } from './ops/cast.js';
import type { GeluForm } from './ops/gelu.js';
import type { Pooling } from './ops/pool.js';
import type { Filled } from './plan/fill.js';
import type { RopeOptions } from './rope-frequencies.js';
import type { Step } from './step.js';
import type { Tensor } from './tensor.js';
import type { Weight, WeightSource } from './weight.js';

export interface LinearOptions {
  /** [N]. */
  readonly bias?: Weight | undefined;
  /**
   * true: the bits of a result row do not depend on the other rows or on their number. Default false: for T ≤
   * `profile.exactRows` each row has the same bits as alone; for more rows nothing is promised. Use true for values
   * that are compared across steps (embeddings). Leave false for logits: true allows the coarser rounding of large
   * steps.
   */
  readonly batchInvariant?: boolean | undefined;
}

/**
 * The ops of models. A call checks its arguments, infers the output shape and records the op. Nothing is computed until
 * the step runs. All ops throw BackendError: BAD_SHAPE, BAD_DTYPE, BAD_ARGUMENT, WRONG_STEP, STEP_FINISHED, DISPOSED.
 * Definitions, tolerances and sources are in the op table (`coreOps`).
 */
export interface Ops {
  /** Rows of `table` [V, D] by `ids` [T] → [T, D]. An id outside the table rejects the run with OUT_OF_RANGE. */
  embed(table: Weight, ids: Tensor): Tensor;
  /** x [T, K] · w [N, K]ᵀ (+ bias [N]) → [T, N]. */
  linear(x: Tensor, w: Weight, options?: LinearOptions): Tensor;
  /** a + b; b has a's shape or is one row [D]. */
  add(a: Tensor, b: Tensor): Tensor;
  /** a · b; b has a's shape or is one row [D]. */
  mul(a: Tensor, b: Tensor): Tensor;
  /** x · factor. */
  scale(x: Tensor, factor: number): Tensor;
  /** x / √(mean(x²) + eps) · w over the last dimension. */
  rmsNorm(x: Tensor, w: Weight, options: { readonly eps: number }): Tensor;
  /** x / (1 + e⁻ˣ). */
  silu(x: Tensor): Tensor;
  /** Gaussian error linear unit: exact (erf, the default) or its tanh approximation. */
  gelu(x: Tensor, options?: { readonly form?: GeluForm }): Tensor;
  /** silu(gate) · up. */
  swiglu(gate: Tensor, up: Tensor): Tensor;
  /** gelu(gate) · up, tanh form. */
  geglu(gate: Tensor, up: Tensor): Tensor;
  /** Rotary position embedding of x [T, H, d] at `positions` [T]. The table of angles is made once per step. */
  rope(x: Tensor, positions: Tensor, options: RopeOptions): Tensor;
  /** Attention of q [T, H, d] over a cache layer → [T, H, d]. Append the keys and values of these rows first. */
  attention(q: Tensor, layer: KvLayer, batch: AttentionBatch, config: AttnConfig): Tensor;
  /** Writes k and v [T, Hk, d] into a cache layer at `slots` [T]. */
  kvAppend(layer: KvLayer, k: Tensor, v: Tensor, slots: Tensor): void;
  /** Over the last dimension. */
  softmax(x: Tensor): Tensor;
  /** Index of the largest element over the last dimension, as i32; ties go to the lowest. */
  argmax(x: Tensor): Tensor;
  /** The k largest over the last dimension, falling; ties go to the lowest index. */
  topK(x: Tensor, k: number): { readonly values: Tensor; readonly indices: Tensor };
  /** Sets a logit of x [S, V] to −∞ if its bit in `bits` [S, ⌈V/32⌉] is 0. */
  maskLogits(x: Tensor, bits: Tensor): Tensor;
  /** Lowers logits [S, V] of `tokens` [S, L] by `strengths` [S, 3]: repetition, presence, frequency. */
  penalise(x: Tensor, tokens: Tensor, strengths: Tensor): Tensor;
  /** Logarithms of the probabilities of `tokens` [S, k] (−1: padding, −∞) by logits x [S, V] → [S, k]. */
  logProbs(x: Tensor, tokens: Tensor): Tensor;
  /**
   * Draws one token per row of logits [S, V], as i32; −1 for a row without a token. `settings` [S, 4]: temperature,
   * top-k (0: all), top-p (1: all), ln min-p (−∞: all). `random` [R, 2]: words of random bits; row s uses
   * `random[draws[s]]`.
   */
  sample(x: Tensor, settings: Tensor, random: Tensor, draws: Tensor): Tensor;
  /** Rows of x [T, D] by index [R] → [R, D]. */
  gatherRows(x: Tensor, rows: Tensor): Tensor;
  /** Row r of x [R, K] times each of the k matrices of w [E, N, K] selected by ids [R, k] → [R, k, N]. */
  expertLinear(x: Tensor, w: Weight, ids: Tensor): Tensor;
  /** Σ over j of weights[t, j] · x[t, j]: x [T, k, D], weights [T, k] → [T, D]. */
  weightedSum(x: Tensor, weights: Tensor): Tensor;
  /** x as another floating dtype, to nearest even. */
  cast(x: Tensor, to: CastTarget): Tensor;
  /** (x − mean) / √(variance + eps) · w + b over the last dimension. */
  layerNorm(x: Tensor, w: Weight, b: Weight, options: { readonly eps: number }): Tensor;
  /** Attention of q [T, H, d] over k and v [Tk, Hk, d] of this step: encoders and cross attention. → [T, H, d]. */
  uncachedAttention(q: Tensor, k: Tensor, v: Tensor, batch: UncachedBatch, config: AttnConfig): Tensor;
  /** One row for each sequence of a ragged batch: x [T, D], cuSeqlens [S + 1] → [S, D]. */
  pool(x: Tensor, cuSeqlens: Tensor, options: { readonly by: Pooling }): Tensor;
  /** x / √Σx² over the last dimension; a row of zeros stays as it is. */
  l2Normalise(x: Tensor): Tensor;
  /** Convolution along time of x [T, C] with w [N, W·C], tap by tap, (+ bias [N]) → [T', N]. Stride 1 and no padding unless given. */
  conv1d(
    x: Tensor,
    w: Weight,
    options?: { readonly bias?: Weight | undefined; readonly stride?: number; readonly padding?: number },
  ): Tensor;
  /** log₁₀(max(x, floor)). */
  log10(x: Tensor, options: { readonly floor: number }): Tensor;
  /** Hyperbolic tangent. */
  tanh(x: Tensor): Tensor;
  /** The same elements in another shape. Costs nothing. */
  view(x: Tensor, shape: readonly number[]): Tensor;
  /** Rows [from, to) of the first dimension. Costs nothing. */
  slice(x: Tensor, from: number, to: number): Tensor;
}

/** The interface for models. `defineBackend` makes it from a driver. */
export interface Backend extends Ops, Partial<Capabilities> {
  /** Contract version: `contractVersion` of the @quern/core that made this backend. */
  readonly contract: number;
  readonly name: string;
  readonly profile: DeviceProfile;
  /** Ops missing in the driver, and how core computes each: in JavaScript on the host, or as older ops. */
  readonly filled: Filled;
  /**
   * Measures the limits of the device, in about a second, between two steps, or takes those from earlier. Absent: the driver
   * cannot.
   */
  measureCeilings?(options?: MeasureOptions): Promise<DeviceCeilings>;
  /** Bytes of device memory free now. */
  freeMemory(): number;
  /** true: made by `rehearse`. It records steps and measures their memory; weights have no bytes; nothing runs. */
  readonly rehearsal?: true;
  /** Opens a step. */
  step(): Step;
  /** Zeroed memory for keys or values of one layer, in the driver's layout. Throws OUT_OF_MEMORY, BAD_ARGUMENT. */
  kvBuffer(spec: KvSpec): KvBuffer;
  /** Loads a parameter off the JS thread. Throws UNSUPPORTED, BAD_WEIGHT, OUT_OF_MEMORY. */
  loadWeight(source: WeightSource): Promise<Weight>;
  /** How often each kernel has run, by op name: the proof that a fused kernel was used. */
  kernelRuns(): Readonly<Record<string, number>>;
  readonly disposed: boolean;
  /**
   * Refuses new work at once. Frees everything after the running work ends, weights and buffers included. Disposing
   * twice is harmless.
   */
  dispose(): void;
  [Symbol.dispose](): void;
}
