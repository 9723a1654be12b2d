import {
  type AttentionBatch,
  type Backend,
  type KvCache,
  needContract,
  type Tensor,
  type Weight,
} from '@quern/core';
import type { AnyLoadedWeights, Architecture } from './architecture.js';
import type { DecoderConfig } from './config/decoder-config.js';
import type { Decoder } from './decoder.js';
import type { ModelFile } from './model-file.js';
import { type LoadOptions, loadWeights } from './weights/load-weights.js';
import { type ResolvedWeight, resolveWeights } from './weights/resolve-weights.js';

/** A decoder-only model whose weights are on a backend. It owns them; caches and steps are the caller's. */
export interface LanguageModel {
  readonly architecture: string;
  readonly config: DecoderConfig;
  readonly backend: Backend;
  /** Bytes that the weights take on the backend. */
  readonly weightBytes: number;
  /**
   * Records a forward pass of T rows of S sequences: ids [T] i32 → logits [S, V] of each sequence's last row
   * (`batch.lastRows`). The rows' keys and values are appended to the cache.
   */
  forward(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor;
  /** The same with the logits of every row: [T, V]. */
  forwardAll(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor;
  /** Frees the weights once no running step uses them. Disposing twice is harmless. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/**
 * Loads the weights of an opened model and builds its forward pass. All tensors are checked before any is loaded; on
 * failure or abort nothing stays behind.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT or ABORTED; BackendError OUT_OF_MEMORY, BAD_WEIGHT, UNSUPPORTED, WRONG_CONTRACT.
 */
export async function loadLanguageModel(
  file: ModelFile,
  backend: Backend,
  options?: LoadOptions,
): Promise<LanguageModel> {
  needContract(backend);
  const { architecture, config } = file;
  const resolved = resolveWeights(architecture.weights, config, file.weights);
  const weights = await loadWeights(backend, resolved, options);
  const decoder = architecture.build(backend, byField(resolved, weights, config.layers), config);
  return new DecoderModel(architecture, config, backend, decoder, weights);
}

/** Puts loaded weights where the architecture looks for them: by the fields of table T, of which `resolved` has all that are needed. */
export function byField<T extends AnyLoadedWeights = AnyLoadedWeights>(
  resolved: readonly ResolvedWeight[],
  weights: readonly Weight[],
  layers: number,
): T {
  const ofModel: Record<string, Weight> = {};
  const ofLayers = Array.from({ length: layers }, (): Record<string, Weight> => ({}));
  for (const [i, { field, layer }] of resolved.entries())
    (layer === undefined ? ofModel : ofLayers[layer]!)[field] = weights[i]!;
  const all: AnyLoadedWeights = { ...ofModel, layers: ofLayers };
  return all as T;
}

class DecoderModel implements LanguageModel {
  readonly architecture: string;
  readonly weightBytes: number;

  constructor(
    { name }: Architecture,
    readonly config: DecoderConfig,
    readonly backend: Backend,
    private readonly decoder: Decoder,
    private readonly weights: readonly Weight[],
  ) {
    this.architecture = name;
    this.weightBytes = weights.reduce((sum, weight) => sum + weight.byteLength, 0);
  }

  forward(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor {
    const x = this.decoder.hidden(ids, batch, cache); // [T, D]
    return this.decoder.logits(this.backend.gatherRows(x, batch.lastRows)); // [S, V]
  }

  forwardAll(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor {
    return this.decoder.logits(this.decoder.hidden(ids, batch, cache)); // [T, V]
  }

  dispose(): void {
    for (const weight of this.weights) weight.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
