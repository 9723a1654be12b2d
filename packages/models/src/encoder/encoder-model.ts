import { type Backend, elementCount, needContract, type Step, type Tensor, type Weight } from '@quern/core';
import { checkedEncoder } from '../checked-calls.js';
import { ModelError } from '../error.js';
import { byField } from '../language-model.js';
import { noticeReplaced } from '../notice-replaced.js';
import { bytesOn, type LoadOptions, loadWeights } from '../weights/load-weights.js';
import { resolveWeights } from '../weights/resolve-weights.js';
import { encoderExtras, noticeUnread, notRead, unreadTensors } from '../weights/unread-tensors.js';
import { storedBytes } from '../weights/weight-file.js';
import type { Encoder, EncoderBatch } from './encoder.js';
import type { EncoderFile } from './encoder-file.js';
import type { EncoderConfig } from './encoder-parameters.js';

/** A text as token ids, with its start and end tokens; for a pair, also the start of the second part. */
export interface EncodedText {
  readonly ids: readonly number[];
  /** Index of the second part's first token. Absent: no second part. */
  readonly secondPart?: number;
}

/** Step inputs for several texts, concatenated: ids [T] and the batch. */
export interface EncoderInputs extends EncoderBatch {
  /** [T] */
  readonly ids: Tensor;
}

/** The same as host arrays. */
export type EncoderArrays = { readonly [Name in keyof EncoderInputs]: Int32Array };

/** An encoder with its weights on a backend. It owns the weights; the caller owns the steps. */
export interface EncoderModel {
  readonly architecture: string;
  readonly config: EncoderConfig;
  readonly backend: Backend;
  /** Bytes of the weights on the backend. */
  readonly weightBytes: number;
  /** Records the hidden states after the last layer, for every row: [T, D]. */
  hidden(step: Step, texts: readonly EncodedText[]): Tensor;
  /** Records the embeddings of S texts: pooled, and of length 1 if `config.normalise`: [S, D]. */
  embed(step: Step, texts: readonly EncodedText[]): Tensor;
  /**
   * Records the classifier's logits of S texts: [S, labels]. Throws ModelError MISSING_WEIGHT if the file has no
   * classifier.
   */
  classify(step: Step, texts: readonly EncodedText[]): Tensor;
  /** Throws ModelError BAD_ARGUMENT for an empty text or one longer than `config.context`. */
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

/** An encoder's costs, for planning. */
export interface EncoderDescription {
  /** Elements of all weights. */
  readonly parameters: number;
  /** Bytes of the weights on a backend; without a backend, in the file. */
  readonly weightBytes: number;
  /** Tensors of the file that the encoder does not read. */
  readonly unread: readonly string[];
}

/** @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT. */
export function describeEncoder(file: EncoderFile, backend?: Backend): EncoderDescription {
  const { architecture, config, weights } = file;
  const resolved = resolveWeights(architecture.weights, config, weights);
  const tensors = resolved.map(({ tensor }) => tensor);
  return {
    unread: unreadTensors({ ...file, resolved }, encoderExtras),
    parameters: tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0),
    weightBytes: tensors.reduce(
      (sum, tensor) => sum + (backend ? bytesOn(backend, tensor) : storedBytes(tensor)),
      0,
    ),
  };
}

/**
 * Loads the weights of an opened encoder and builds its forward pass. Checks all tensors before loading any. Failure or
 * abort frees everything.
 * @param changes overrides of the file's settings: pooling, normalisation, most tokens of a text
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT or ABORTED; BackendError OUT_OF_MEMORY,
 * BAD_WEIGHT, UNSUPPORTED, WRONG_CONTRACT.
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
  noticeReplaced(file, options?.onNotice);
  noticeUnread({ ...file, resolved }, encoderExtras, notRead, options?.onNotice);
  const weights = await loadWeights(backend, resolved, options);
  try {
    const fields = byField(resolved, weights, config.layers);
    const encoder = checkedEncoder(architecture.name, config.width, () =>
      architecture.build(backend, fields, config),
    );
    return new LoadedEncoder(file, config, backend, encoder, weights);
  } catch (error) {
    for (const weight of weights) weight.dispose();
    throw error;
  }
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
        `${this.path}: has no classifier: it can embed texts, but not rank them`,
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
