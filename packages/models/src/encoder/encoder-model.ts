import { type Backend, elementCount, needContract, type Step, type Tensor, type Weight } from '@quern/core';
import { ModelError } from '../error.js';
import { byField } from '../language-model.js';
import { bytesOn, type LoadOptions, loadWeights } from '../weights/load-weights.js';
import { resolveWeights } from '../weights/resolve-weights.js';
import { storedBytes } from '../weights/weight-file.js';
import type { Encoder, EncoderBatch } from './encoder.js';
import type { EncoderFile } from './encoder-file.js';
import type { EncoderConfig } from './encoder-parameters.js';

/** A text as token ids, its start and end tokens included, and, for a pair, where the second part begins. */
export interface EncodedText {
  readonly ids: readonly number[];
  /** Absent: the whole text is the first part. */
  readonly secondPart?: number;
}

/** Inputs of a step over some texts, which lie one after another: ids [T] and the batch. */
export interface EncoderInputs extends EncoderBatch {
  /** [T] */
  readonly ids: Tensor;
}

/** The same as host arrays. */
export type EncoderArrays = { readonly [Name in keyof EncoderInputs]: Int32Array };

/** An encoder whose weights are on a backend. It owns them; steps are the caller's. */
export interface EncoderModel {
  readonly architecture: string;
  readonly config: EncoderConfig;
  readonly backend: Backend;
  /** Bytes that the weights take on the backend. */
  readonly weightBytes: number;
  /** Records the states after the last layer of every row of some texts: [T, D]. */
  hidden(step: Step, texts: readonly EncodedText[]): Tensor;
  /** Records the embeddings of some texts, pooled and (where the model does) of length 1: [S, D]. */
  embed(step: Step, texts: readonly EncodedText[]): Tensor;
  /** Records the classifier's logits of some texts: [S, labels]. Throws ModelError MISSING_WEIGHT where there is none. */
  classify(step: Step, texts: readonly EncodedText[]): Tensor;
  /** Throws ModelError BAD_ARGUMENT for a text without tokens, or of more than the model takes. */
  arrays(texts: readonly EncodedText[]): EncoderArrays;
  inputs(step: Step, arrays: EncoderArrays): EncoderInputs;
  /** As `embed`. */
  embedInputs(inputs: EncoderInputs): Tensor;
  /** As `classify`. */
  classifyInputs(inputs: EncoderInputs): Tensor;
  /** Frees the weights once no running step uses them. Disposing twice is harmless. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** What a planner needs to know of an encoder. */
export interface EncoderDescription {
  /** Elements of all weights. */
  readonly parameters: number;
  /** Bytes of the weights on a backend, or without one, in the file. */
  readonly weightBytes: number;
}

/** @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT. */
export function describeEncoder(
  { architecture, config, weights }: EncoderFile,
  backend?: Backend,
): EncoderDescription {
  const tensors = resolveWeights(architecture.weights, config, weights).map(({ tensor }) => tensor);
  return {
    parameters: tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0),
    weightBytes: tensors.reduce(
      (sum, tensor) => sum + (backend ? bytesOn(backend, tensor) : storedBytes(tensor)),
      0,
    ),
  };
}

/**
 * Loads the weights of an opened encoder and builds its forward pass. All tensors are checked before any is loaded; on
 * failure or abort nothing stays behind.
 * @param changes settings of the file to be overruled: how to pool, whether to normalise, most tokens of a text
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT or ABORTED; BackendError OUT_OF_MEMORY, BAD_WEIGHT, UNSUPPORTED, WRONG_CONTRACT.
 */
export async function loadEncoder(
  file: EncoderFile,
  backend: Backend,
  options?: LoadOptions,
  changes: Partial<Pick<EncoderConfig, 'pooling' | 'normalise' | 'context'>> = {},
): Promise<EncoderModel> {
  needContract(backend);
  const { architecture } = file;
  const config = { ...file.config, ...changes };
  const resolved = resolveWeights(architecture.weights, config, file.weights);
  const weights = await loadWeights(backend, resolved, options);
  const encoder = architecture.build(backend, byField(resolved, weights, config.layers), config);
  return new LoadedEncoder(file, config, backend, encoder, weights);
}

class LoadedEncoder implements EncoderModel {
  readonly architecture: string;
  readonly weightBytes: number;
  private readonly path: string;

  constructor(
    { architecture, path }: EncoderFile,
    readonly config: EncoderConfig,
    readonly backend: Backend,
    private readonly encoder: Encoder,
    private readonly weights: readonly Weight[],
  ) {
    this.architecture = architecture.name;
    this.path = path;
    this.weightBytes = weights.reduce((sum, weight) => sum + weight.byteLength, 0);
  }

  hidden(step: Step, texts: readonly EncodedText[]): Tensor {
    return this.states(this.inputs(step, this.arrays(texts)));
  }

  embed(step: Step, texts: readonly EncodedText[]): Tensor {
    return this.embedInputs(this.inputs(step, this.arrays(texts)));
  }

  embedInputs(inputs: EncoderInputs): Tensor {
    const x = this.states(inputs);
    const pooled = this.backend.pool(x, inputs.cuSeqlens, { by: this.config.pooling }); // [S, D]
    return this.config.normalise ? this.backend.l2Normalise(pooled) : pooled;
  }

  classify(step: Step, texts: readonly EncodedText[]): Tensor {
    return this.classifyInputs(this.inputs(step, this.arrays(texts)));
  }

  classifyInputs(inputs: EncoderInputs): Tensor {
    if (!this.encoder.classify)
      throw new ModelError(
        'MISSING_WEIGHT',
        `${this.path}: has no classifier, so it embeds texts but ranks none`,
      );
    const x = this.states(inputs);
    return this.encoder.classify(this.backend.pool(x, inputs.cuSeqlens, { by: 'cls' })); // [S, labels]
  }

  inputs(step: Step, { ids, positions, segments, cuSeqlens }: EncoderArrays): EncoderInputs {
    return {
      ids: step.input(ids),
      positions: step.input(positions),
      segments: step.input(segments),
      cuSeqlens: step.input(cuSeqlens),
    };
  }

  arrays(texts: readonly EncodedText[]): EncoderArrays {
    const T = texts.reduce((sum, { ids }) => sum + ids.length, 0);
    const arrays = {
      ids: new Int32Array(T),
      positions: new Int32Array(T),
      segments: new Int32Array(T),
      cuSeqlens: new Int32Array(texts.length + 1),
    };
    let row = 0;
    for (const [s, { ids, secondPart = ids.length }] of texts.entries()) {
      this.needRoom(ids.length);
      arrays.ids.set(ids, row);
      for (let i = 0; i < ids.length; i++) arrays.positions[row + i] = this.config.firstPosition + i;
      arrays.segments.fill(1, row + secondPart, row + ids.length);
      row += ids.length;
      arrays.cuSeqlens[s + 1] = row;
    }
    return arrays;
  }

  dispose(): void {
    for (const weight of this.weights) weight.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private states(inputs: EncoderInputs): Tensor {
    return this.encoder.hidden(inputs.ids, inputs); // [T, D]
  }

  private needRoom(tokens: number): void {
    if (tokens < 1 || tokens > this.config.context)
      throw new ModelError(
        'BAD_ARGUMENT',
        `a text must have 1 to ${this.config.context} tokens for this model; got ${tokens}`,
      );
  }
}
