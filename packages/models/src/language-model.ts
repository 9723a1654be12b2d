import {
  type AttentionBatch,
  type Backend,
  type KvCache,
  needContract,
  type Tensor,
  type Weight,
} from '@quern/core';
import type { AnyLoadedWeights } from './architecture.js';
import { checkedDecoder } from './checked-calls.js';
import type { DecoderConfig } from './config/decoder-config.js';
import type { Decoder } from './decoder.js';
import { ModelError } from './error.js';
import { type LayerRange, rangeFault } from './layer-ranges.js';
import { type AdaptedRows, adaptedBackend } from './lora/adapted-backend.js';
import type { AdapterStacks } from './lora/adapter-stacks.js';
import type { ModelFile } from './model-file.js';
import { noticeReplaced } from './notice-replaced.js';
import { type LoadOptions, loadWeights } from './weights/load-weights.js';
import { type ResolvedWeight, resolveWeights } from './weights/resolve-weights.js';
import { decoderExtras, noticeUnread, notRead } from './weights/unread-tensors.js';
import { storedBytes } from './weights/weight-file.js';
import type { DecoderFunction } from './weights/weight-table.js';

/** A range of layers and its backend. */
export interface PartPlace extends LayerRange {
  readonly backend: Backend;
}

/** Consecutive layers of a model, with their weights on one backend. */
export interface ModelPart extends PartPlace {
  /** Bytes of its weights. */
  readonly weightBytes: number;
  /**
   * Records the layers in a step of its backend: x → the residual stream after the part's last layer [T, D]. x of the
   * first part: ids [T] i32; of other parts: the previous part's output [T, D] f32. Appends the rows' keys and values
   * to the cache.
   * @param adapted the adapters of the rows, with their matrices on the part's backend
   */
  forward(x: Tensor, batch: AttentionBatch, cache: KvCache, adapted?: AdaptedPart): Tensor;
  /** A parameter of one of its layers, by its field in the weight table. */
  weight(layer: number, field: string): Weight | undefined;
}

/** Adapters for a step of a part. */
export interface AdaptedPart extends AdaptedRows {
  readonly stacks: AdapterStacks['stacks'];
}

/** A decoder-only model on one or more backends. It owns its weights; the caller owns caches and steps. */
export interface LanguageModel {
  readonly architecture: string;
  readonly config: DecoderConfig;
  /** In layer order. One step per part, in this order, computes a forward pass. */
  readonly parts: readonly ModelPart[];
  /** The last part's backend; it computes the logits. */
  readonly backend: Backend;
  /** Bytes of the weights on all backends. */
  readonly weightBytes: number;
  /** Rows of the last part's output [R, D] → logits [R, V]. */
  logits(x: Tensor): Tensor;
  /**
   * The whole forward pass of a model with one part: ids [T] i32 → logits [S, V] of each sequence's last row
   * (`batch.lastRows`).
   * @throws ModelError BAD_ARGUMENT for a model with several parts: a step runs on one backend.
   */
  forward(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor;
  /** `forward` with the logits of every row: [T, V]. */
  forwardAll(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor;
  /** Frees the weights once no running step uses them. Disposing twice is harmless. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/**
 * Loads the weights of an opened model and builds its forward pass. Checks all tensors before loading any. Failure or
 * abort frees everything, on every backend.
 * @param places a backend for the whole model, or ranges that together hold every layer once, in order. The first range
 * also loads the embedding, the last the output projection; a tied matrix is loaded by both.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT, BAD_ARGUMENT or ABORTED; BackendError
 * OUT_OF_MEMORY, BAD_WEIGHT, UNSUPPORTED, WRONG_CONTRACT.
 */
export async function loadLanguageModel(
  file: ModelFile,
  places: Backend | readonly PartPlace[],
  options: LoadOptions = {},
): Promise<LanguageModel> {
  const { architecture, config } = file;
  const wanted = isList(places) ? places : [{ backend: places, from: 0, to: config.layers }];
  for (const { backend } of wanted) needContract(backend);
  const fault = rangeFault(wanted, config.layers);
  if (fault) throw new ModelError('BAD_ARGUMENT', `[loadLanguageModel] places: ${fault}`);
  const resolved = resolveWeights(architecture.weights, config, file.weights);
  noticeReplaced(file, options.onNotice);
  noticeUnread({ ...file, resolved }, decoderExtras(config), notRead, options.onNotice);
  return new DecoderModel(architecture.name, config, await loadParts(file, wanted, resolved, options));
}

const isList = (places: Backend | readonly PartPlace[]): places is readonly PartPlace[] =>
  Array.isArray(places);

/** The parameters of a range of layers; the first and last ranges include the model's ends. */
function weightsOf(
  { from, to }: LayerRange,
  resolved: readonly ResolvedWeight[],
  { layers }: DecoderConfig,
): readonly ResolvedWeight[] {
  const isRead = (by: DecoderFunction) => by === 'layer' || (by === 'embed' ? from === 0 : to === layers);
  return resolved.filter(({ layer, readBy }) =>
    layer === undefined ? readBy?.some(isRead) : from <= layer && layer < to,
  );
}

async function loadParts(
  { architecture, config }: ModelFile,
  places: readonly PartPlace[],
  resolved: readonly ResolvedWeight[],
  options: LoadOptions,
): Promise<readonly DecoderPart[]> {
  const wanted = places.map((place) => weightsOf(place, resolved, config));
  const progress = progressOfParts(wanted, options);
  const parts: DecoderPart[] = [];
  try {
    for (const [p, place] of places.entries()) {
      const weights = await loadWeights(place.backend, wanted[p]!, { ...options, onProgress: progress(p) });
      const fields = byField(wanted[p]!, weights, config.layers);
      const hint = places.length > 1 ? absentWeights : '';
      const build = (backend: Backend) =>
        checkedDecoder(architecture.name, config, () => architecture.build(backend, fields, config), hint);
      parts.push(partOf(place, config, weights, fields, build));
    }
    return parts;
  } catch (error) {
    for (const part of parts) part.dispose();
    throw error;
  }
}

/** A part; frees its weights where it cannot be built. */
function partOf(...parts: ConstructorParameters<typeof DecoderPart>): DecoderPart {
  const [, , weights] = parts;
  try {
    return new DecoderPart(...parts);
  } catch (error) {
    for (const weight of weights) weight.dispose();
    throw error;
  }
}

const absentWeights =
  ' (on several backends `build` runs once per backend, without the weights of the others: read weights in embed, layer and logits)';

/** Converts each part's progress to progress of the whole model. */
function progressOfParts(parts: readonly (readonly ResolvedWeight[])[], { onProgress }: LoadOptions) {
  const bytes = parts.map((part) => part.reduce((sum, { tensor }) => sum + storedBytes(tensor), 0));
  const sum = (some: readonly number[]) => some.reduce((a, b) => a + b, 0);
  return (p: number): LoadOptions['onProgress'] =>
    onProgress &&
    (({ phase, done }) => onProgress({ phase, done: sum(bytes.slice(0, p)) + done, total: sum(bytes) }));
}

/** Loaded weights by the fields of table T; `resolved` must hold all required fields. */
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

/** A table of learned positions has no row for later tokens. @throws ModelError BAD_ARGUMENT */
function needPositions({ positionRows }: DecoderConfig, { options: { context } }: KvCache): void {
  if (positionRows === undefined || context <= positionRows) return;
  throw new ModelError(
    'BAD_ARGUMENT',
    `[forward] the cache has a context of ${context}, but the model's table of positions has ${positionRows} rows: allocate one of ${positionRows} at most`,
  );
}

class DecoderPart implements ModelPart {
  readonly backend: Backend;
  readonly from: number;
  readonly to: number;
  readonly weightBytes: number;
  readonly decoder: Decoder;

  constructor(
    { backend, from, to }: PartPlace,
    private readonly config: DecoderConfig,
    private readonly weights: readonly Weight[],
    private readonly fields: AnyLoadedWeights,
    private readonly build: (backend: Backend) => Decoder,
  ) {
    this.backend = backend;
    this.decoder = build(backend);
    this.from = from;
    this.to = to;
    this.weightBytes = weights.reduce((sum, weight) => sum + weight.byteLength, 0);
  }

  forward(x: Tensor, batch: AttentionBatch, cache: KvCache, adapted?: AdaptedPart): Tensor {
    const { from, to, backend } = this;
    if (from === 0 && !backend.rehearsal) needPositions(this.config, cache);
    const decoder = adapted ? this.build(adaptedBackend(backend, adapted.stacks, adapted)) : this.decoder;
    let stream = from === 0 ? decoder.embed(x, batch) : x; // [T, D]
    for (let i = from; i < to; i++) stream = decoder.layer(stream, i, batch, cache); // [T, D]
    return stream;
  }

  weight(layer: number, field: string): Weight | undefined {
    return this.fields.layers[layer]?.[field];
  }

  dispose(): void {
    for (const weight of this.weights) weight.dispose();
  }
}

class DecoderModel implements LanguageModel {
  readonly backend: Backend;
  readonly weightBytes: number;
  private readonly last: DecoderPart;

  constructor(
    readonly architecture: string,
    readonly config: DecoderConfig,
    readonly parts: readonly DecoderPart[],
  ) {
    this.last = parts.at(-1)!;
    this.backend = this.last.backend;
    this.weightBytes = parts.reduce((sum, part) => sum + part.weightBytes, 0);
  }

  logits(x: Tensor): Tensor {
    return this.last.decoder.logits(x); // [R, V]
  }

  forward(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor {
    const x = this.only.forward(ids, batch, cache); // [T, D]
    return this.logits(this.backend.gatherRows(x, batch.lastRows)); // [S, V]
  }

  forwardAll(ids: Tensor, batch: AttentionBatch, cache: KvCache): Tensor {
    return this.logits(this.only.forward(ids, batch, cache)); // [T, V]
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private get only(): ModelPart {
    const { parts } = this;
    if (parts.length === 1) return this.last;
    throw new ModelError(
      'BAD_ARGUMENT',
      `[forward] the model has ${parts.length} parts, each on its own backend: run a step for each of model.parts, then model.logits`,
    );
  }
}
