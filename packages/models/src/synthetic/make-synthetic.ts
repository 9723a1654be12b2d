import type { Schema } from '@quern/core';
import {
  byteLength,
  type ChosenFormat,
  chooseFormat,
  formats,
  type MetadataInput,
  type MixedModel,
  type TensorInput,
  writeGguf,
} from '@quern/quant';
import { ModelError } from '../error.js';
import { type SyntheticFormat, syntheticFormats } from './formats.js';
import { checkSynthetic, nameIn, sharedSchema } from './options.js';
import { fillBlocks, RandomWords } from './random-blocks.js';
import { type ModelShape, type ModelShapeName, modelShapes } from './shapes.js';
import { syntheticVocabulary } from './vocabulary.js';

export interface SyntheticOptions {
  readonly shape: ModelShapeName;
  readonly format: SyntheticFormat;
  /** The same seed gives the same file, byte for byte. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Of each option: what it must be, and its default. */
export const syntheticSchema = {
  shape: { ...nameIn(modelShapes), about: 'whose shape', required: true },
  ...sharedSchema,
} as const satisfies Schema<SyntheticOptions>;

/** Written at a time, in bytes; a multiple of every block. */
const pieceBytes = 1 << 22;

function needNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new ModelError('ABORTED', 'making the model was aborted', { cause: signal.reason });
}

/** Random blocks of one matrix, piece by piece, so that memory stays bounded. */
export async function* randomMatrix(
  { format, sharesScales }: ChosenFormat,
  shape: readonly number[],
  seed: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const words = new RandomWords(seed);
  const deviation = 1 / Math.sqrt(shape[shape.length - 1]!);
  const { blockBytes } = formats[format];
  const piece = Math.floor(pieceBytes / blockBytes) * blockBytes;
  const total = byteLength(format, shape);
  for (let done = 0; done < total; done += piece) {
    needNotAborted(signal);
    const bytes = new Uint8Array(Math.min(piece, total - done));
    fillBlocks(format, bytes, words, deviation, sharesScales);
    yield bytes;
  }
}

/** Collects tensors in file order, each with a seed of its own. */
export class TensorList {
  readonly tensors: TensorInput[] = [];

  constructor(
    private readonly format: SyntheticFormat,
    private readonly model: MixedModel,
    private readonly seed: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** In the format that the mix gives a matrix of that name. */
  matrix(name: string, shape: readonly number[]): void {
    this.add(
      name,
      shape,
      chooseFormat({ name, shape, format: 'f32' }, syntheticFormats[this.format], this.model),
    );
  }

  /** In f32, whatever the mix. */
  floats(name: string, shape: readonly number[]): void {
    this.add(name, shape, { format: 'f32' });
  }

  norm(name: string, width: number): void {
    this.vector(name, width, 1);
  }

  vector(name: string, width: number, value: number): void {
    const values = new Float32Array(width).fill(value);
    this.tensors.push({ name, shape: [width], format: 'f32', data: new Uint8Array(values.buffer) });
  }

  private add(name: string, shape: readonly number[], chosen: ChosenFormat): void {
    const seed = this.seed + 7919 * this.tensors.length;
    const data = () => randomMatrix(chosen, shape, seed, this.signal);
    this.tensors.push({ name, shape, format: chosen.format, data });
  }
}

function addLayer(list: TensorList, shape: ModelShape, layer: number): void {
  const { width, heads, kvHeads, headDim } = shape;
  const name = (part: string) => `blk.${layer}.${part}.weight`;
  list.norm(name('attn_norm'), width);
  list.matrix(name('attn_q'), [heads * headDim, width]);
  list.matrix(name('attn_k'), [kvHeads * headDim, width]);
  list.matrix(name('attn_v'), [kvHeads * headDim, width]);
  list.matrix(name('attn_output'), [width, heads * headDim]);
  if (shape.architecture !== 'llama') {
    list.norm(name('attn_q_norm'), headDim);
    list.norm(name('attn_k_norm'), headDim);
  }
  list.norm(name('ffn_norm'), width);
  addFeedForward(list, shape, name);
}

function addFeedForward(
  list: TensorList,
  { width, feedForward, mixture }: ModelShape,
  name: (part: string) => string,
): void {
  if (mixture) list.matrix(name('ffn_gate_inp'), [mixture.experts, width]);
  const [stack, suffix] = mixture ? [[mixture.experts], '_exps'] : [[], ''];
  const inner = mixture?.feedForward ?? feedForward;
  list.matrix(name(`ffn_gate${suffix}`), [...stack, inner, width]);
  list.matrix(name(`ffn_up${suffix}`), [...stack, inner, width]);
  list.matrix(name(`ffn_down${suffix}`), [...stack, width, inner]);
}

function tensorsOf(
  shape: ModelShape,
  format: SyntheticFormat,
  seed: number,
  signal: AbortSignal | undefined,
): TensorInput[] {
  const { layers, tied } = shape;
  const model = {
    layers,
    tied,
    groupedQueries: shape.heads / shape.kvHeads,
    experts: shape.mixture?.experts ?? 0,
    weighted: false,
  };
  const list = new TensorList(format, model, seed, signal);
  list.matrix('token_embd.weight', [shape.vocabulary, shape.width]);
  for (let layer = 0; layer < shape.layers; layer++) addLayer(list, shape, layer);
  list.norm('output_norm.weight', shape.width);
  if (!shape.tied) list.matrix('output.weight', [shape.vocabulary, shape.width]);
  return list.tensors;
}

function metadataOf(name: string, shape: ModelShape): Record<string, MetadataInput> {
  const key = (part: string) => `${shape.architecture}.${part}`;
  const { mixture } = shape;
  return {
    ...(mixture && {
      [key('expert_count')]: mixture.experts,
      [key('expert_used_count')]: mixture.chosen,
      [key('expert_feed_forward_length')]: mixture.feedForward,
    }),
    'general.architecture': shape.architecture,
    'general.name': `${name}, synthetic weights`,
    [key('block_count')]: shape.layers,
    [key('context_length')]: shape.context,
    [key('embedding_length')]: shape.width,
    [key('feed_forward_length')]: shape.feedForward,
    [key('attention.head_count')]: shape.heads,
    [key('attention.head_count_kv')]: shape.kvHeads,
    [key('attention.key_length')]: shape.headDim,
    [key('attention.value_length')]: shape.headDim,
    [key('attention.layer_norm_rms_epsilon')]: { type: 'float32', value: shape.rmsEps },
    [key('rope.freq_base')]: { type: 'float32', value: shape.theta },
    [key('rope.dimension_count')]: shape.headDim,
    [key('vocab_size')]: shape.vocabulary,
    ...syntheticVocabulary(shape.vocabulary, shape.architecture === 'llama' ? 'llama-bpe' : 'qwen2'),
  };
}

/**
 * Writes a GGUF of a model's true shape with random weights: what it computes is nonsense, what it costs is true.
 * Throws ModelError BAD_ARGUMENT for an unknown shape or format, ABORTED; FileError WRITE_FAILED. What fails leaves no file.
 */
export async function makeSyntheticModel(path: string, options: SyntheticOptions): Promise<void> {
  checkSynthetic('makeSyntheticModel', path, options, syntheticSchema);
  const { shape: name, format, seed = 1, signal } = options;
  const shape: ModelShape = modelShapes[name];
  const tensors = tensorsOf(shape, format, seed, signal);
  await writeGguf(path, { metadata: metadataOf(name, shape), tensors });
}
