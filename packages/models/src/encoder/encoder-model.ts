import { type Backend, elementCount, needContract, type Step, type Tensor, type Weight } from '@quern/core';
import { checkedEncoder } from '../checked-calls.js';
import { ModelError } from '../error.js';
import { byField } from '../language-model.js';
import { noticeReplaced } from '../notice-replaced.js';
import { bytesOn, type LoadOptions, loadWeights } from '../weights/load-weights.js';
import { resolveWeights } from '../weights/resolve-weights.js';
import { encoderExtras, noticeUnread, notRead, unreadTensors } from '../weights/unread-tensors.js';
import { storedBytes } from '../weights/weight-file.js';
import { denseNames, withDenseEntries } from './dense.js';
import type { Encoder, EncoderBatch, WindowArrays } from './encoder.js';
import type { EncoderFile } from './encoder-file.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { projection } from './projection.js';
import { halfWindow, windowArrays } from './windowed-attention.js';

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

/** The same as host arrays; those of windows only where a text is longer than half a window. */
export type EncoderArrays = {
  readonly [Name in Exclude<keyof EncoderInputs, 'window'>]: Int32Array;
} & Partial<WindowArrays>;

const namesOf = (arrays: EncoderArrays) => Object.keys(arrays) as (keyof EncoderArrays)[];

/** The inputs of a step, each made by `input`. */
export function encoderInputs(
  arrays: EncoderArrays,
  input: (name: keyof EncoderArrays) => Tensor,
): EncoderInputs {
  const made = Object.fromEntries(namesOf(arrays).map((name) => [name, input(name)])) as Record<
    keyof EncoderArrays,
    Tensor
  >;
  return arrays.ahead ? { ...made, window: made } : made;
}

/** An encoder with its weights on a backend. It owns the weights; the caller owns the steps. */
export interface EncoderModel {
  readonly architecture: string;
  readonly config: EncoderConfig;
  /** Numbers per embedding. */
  readonly dimensions: number;
  readonly backend: Backend;
  /** Bytes of the weights on the backend. */
  readonly weightBytes: number;
  /** Records the hidden states after the last layer, for every row: [T, D]. */
  hidden(step: Step, texts: readonly EncodedText[]): Tensor;
  /** Records the embeddings of S texts: pooled, and of length 1 if `config.normalise`: [S, dimensions]. */
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
  const resolved = resolveWeights(withDenseEntries(architecture.weights, config), config, weights);
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
  const table = withDenseEntries(architecture.weights, config);
  const resolved = resolveWeights(table, config, file.weights);
  noticeReplaced(file, options?.onNotice);
  noticeUnread({ ...file, resolved }, encoderExtras, notRead, options?.onNotice);
  const weights = await loadWeights(backend, resolved, options);
  try {
    const fields = byField(resolved, weights, config.layers);
    const encoder = checkedEncoder(architecture.name, config.width, () =>
      architecture.build(backend, fields, config),
    );
    const dense = (config.dense ?? []).map((_, i) => fields[denseNames[i]!] as Weight);
    return new LoadedEncoder(file, config, backend, encoder, { all: weights, dense });
  } catch (error) {
    for (const weight of weights) weight.dispose();
    throw error;
  }
}

class LoadedEncoder implements EncoderModel {
  readonly architecture: string;
  readonly weightBytes: number;
  readonly dimensions: number;
  private readonly path: string;

  constructor(
    { architecture, path }: EncoderFile,
    readonly config: EncoderConfig,
    readonly backend: Backend,
    private readonly encoder: Encoder,
    private readonly weights: Readonly<Record<'all' | 'dense', readonly Weight[]>>,
  ) {
    this.architecture = architecture.name;
    this.path = path;
    this.dimensions = config.dense?.at(-1) ?? config.width;
    this.weightBytes = weights.all.reduce((sum, weight) => sum + weight.byteLength, 0);
  }

  hidden(step: Step, texts: readonly EncodedText[]): Tensor {
    return this.states(this.inputs(step, this.arrays(texts)));
  }

  embed(step: Step, texts: readonly EncodedText[]): Tensor {
    return this.embedInputs(this.inputs(step, this.arrays(texts)));
  }

  embedInputs(inputs: EncoderInputs): Tensor {
    const x = this.states(inputs);
    let pooled = this.backend.pool(x, inputs.cuSeqlens, { by: this.config.pooling }); // [S, D]
    for (const matrix of this.weights.dense) pooled = projection(this.backend)(pooled, matrix); // [S, width of the matrix]
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
    const { labelPooling: by = 'cls' } = this.config;
    return this.encoder.classify(this.backend.pool(x, inputs.cuSeqlens, { by })); // [S, labels]
  }

  inputs(step: Step, arrays: EncoderArrays): EncoderInputs {
    return encoderInputs(arrays, (name) => step.input(arrays[name]!));
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
    const half = this.config.causal ? 0 : halfWindow(this.config.windows, T);
    return half > 0 ? { ...arrays, ...windowArrays(arrays.cuSeqlens, half) } : arrays;
  }

  dispose(): void {
    for (const weight of this.weights.all) weight.dispose();
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
