import { rules, type Schema } from '@quern/core';
import { type MetadataInput, type TensorInput, writeGguf } from '@quern/quant';
import { type EncoderShape, type EncoderShapeName, encoderShapes } from './encoder-shapes.js';
import type { SyntheticFormat } from './formats.js';
import { checkSynthetic, nameIn, sharedSchema } from './options.js';
import { TensorList } from './tensor-list.js';

export interface SyntheticEncoderOptions {
  readonly shape: EncoderShapeName;
  readonly format: SyntheticFormat;
  /** Adds a classifier with one output, as in cross-encoders. */
  readonly ranks?: boolean | undefined;
  /** Equal seeds give equal files, byte for byte. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Per option: valid values and default. */
export const syntheticEncoderSchema = {
  shape: { ...nameIn(encoderShapes), about: 'encoder with the dimensions to copy', required: true },
  ranks: {
    ...rules.flag,
    about: 'add a classifier with one output, as in cross-encoders',
    byDefault: false,
  },
  ...sharedSchema,
} as const satisfies Schema<SyntheticEncoderOptions>;

/**
 * A layer norm after a block. Outlier channels are in its bias, as in BERT (Kovaleva et al. 2021): large weights would
 * multiply from norm to norm.
 */
function addNorm(list: TensorList, name: string, width: number, outliers = true): void {
  list.norm(`${name}.weight`, width);
  list.shift(`${name}.bias`, width, outliers);
}

function addLayer(list: TensorList, { width, feedForward, layers }: EncoderShape, layer: number): void {
  const name = (part: string) => `blk.${layer}.${part}`;
  for (const part of ['attn_q', 'attn_k', 'attn_v', 'attn_output']) {
    list.matrix(`${name(part)}.weight`, [width, width]);
    list.zeros(`${name(part)}.bias`, width);
  }
  addNorm(list, name('attn_output_norm'), width);
  list.matrix(`${name('ffn_up')}.weight`, [feedForward, width]);
  list.zeros(`${name('ffn_up')}.bias`, feedForward);
  list.matrix(`${name('ffn_down')}.weight`, [width, feedForward]);
  list.zeros(`${name('ffn_down')}.bias`, width);
  addNorm(list, name('layer_output_norm'), width, layer < layers - 1);
}

function tensorsOf(list: TensorList, shape: EncoderShape, ranks: boolean): TensorInput[] {
  const { width } = shape;
  list.matrix('token_embd.weight', [shape.vocabulary, width]);
  list.floats('position_embd.weight', [shape.context, width]);
  list.floats('token_types.weight', [2, width]);
  addNorm(list, 'token_embd_norm', width);
  for (let layer = 0; layer < shape.layers; layer++) addLayer(list, shape, layer);
  if (ranks) {
    list.floats('cls.weight', [width, width]);
    list.zeros('cls.bias', width);
    list.floats('cls.output.weight', [1, width]);
    list.zeros('cls.output.bias', 1);
  }
  return list.tensors;
}

/** BERT's special tokens at their ids; letters and digits, as word starts and as continuations; filler. */
function vocabulary(size: number): Record<string, MetadataInput> {
  const letters = Array.from('abcdefghijklmnopqrstuvwxyz0123456789.,!?');
  const known = [
    '[PAD]',
    '[UNK]',
    '[CLS]',
    '[SEP]',
    '[MASK]',
    ...letters.map((letter) => `▁${letter}`),
    ...letters,
  ];
  return {
    'tokenizer.ggml.model': 'bert',
    'tokenizer.ggml.pre': 'bert-bge',
    'tokenizer.ggml.tokens': Array.from({ length: size }, (_, id) => known[id] ?? `▁⟨${id}⟩`),
    'tokenizer.ggml.token_type': Int32Array.from({ length: size }, (_, id) => (id < 5 ? 3 : 1)),
    'tokenizer.ggml.token_type_count': 2,
    'tokenizer.ggml.padding_token_id': 0,
    'tokenizer.ggml.unknown_token_id': 1,
    'tokenizer.ggml.bos_token_id': 2,
    'tokenizer.ggml.cls_token_id': 2,
    'tokenizer.ggml.eos_token_id': 3,
    'tokenizer.ggml.seperator_token_id': 3,
    'tokenizer.ggml.mask_token_id': 4,
  };
}

const metadataOf = (name: string, shape: EncoderShape, ranks: boolean): Record<string, MetadataInput> => ({
  'general.architecture': 'bert',
  'general.name': `${name}, synthetic weights`,
  'bert.block_count': shape.layers,
  'bert.context_length': shape.context,
  'bert.embedding_length': shape.width,
  'bert.feed_forward_length': shape.feedForward,
  'bert.attention.head_count': shape.heads,
  'bert.attention.layer_norm_epsilon': { type: 'float32', value: 1e-12 },
  'bert.attention.causal': false,
  'bert.pooling_type': ranks ? 4 : 2,
  ...vocabulary(shape.vocabulary),
});

/**
 * Writes a GGUF with a published encoder's shape and random weights: true cost, meaningless output. Throws ModelError
 * BAD_ARGUMENT for an unknown shape or format, ABORTED; FileError WRITE_FAILED. A failure leaves no file.
 */
export async function makeSyntheticEncoder(path: string, options: SyntheticEncoderOptions): Promise<void> {
  checkSynthetic('makeSyntheticEncoder', path, options, syntheticEncoderSchema);
  const { shape: name, format, ranks = false, seed = 1, signal } = options;
  const shape: EncoderShape = encoderShapes[name];
  const model = { layers: shape.layers, tied: true, groupedQueries: 1, experts: 0, weighted: false };
  const list = new TensorList(format, model, seed, signal);
  await writeGguf(path, { metadata: metadataOf(name, shape, ranks), tensors: tensorsOf(list, shape, ranks) });
}
