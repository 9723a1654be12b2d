import type { Schema } from '@quern/core';
import { type MetadataInput, type TensorInput, writeGguf } from '@quern/quant';
import type { SyntheticFormat } from '../synthetic/formats.js';
import { checkSynthetic, nameIn, sharedSchema } from '../synthetic/options.js';
import { TensorList } from '../synthetic/tensor-list.js';
import { byteCharacters } from '../synthetic/vocabulary.js';
import type { WeightEntry, WeightTable } from '../weights/weight-table.js';
import type { StackConfig } from './config.js';
import { decoderWeights, encoderWeights } from './weights.js';

/** The dimensions of a published Whisper. */
export interface SpeechShape {
  readonly width: number;
  readonly heads: number;
  /** Layers of the encoder; the decoder has the same number. */
  readonly layers: number;
  /** Frames of audio, and tokens of text. */
  readonly contexts: readonly [sound: number, text: number];
  readonly melBands: number;
}

/** Source: config.json of each model. 'whisper-test' is for tests: windows of 1 s. */
export const speechShapes = {
  'whisper-test': { width: 32, heads: 4, layers: 2, contexts: [50, 48], melBands: 80 },
  'whisper-tiny': { width: 384, heads: 6, layers: 4, contexts: [1500, 448], melBands: 80 },
  'whisper-base': { width: 512, heads: 8, layers: 6, contexts: [1500, 448], melBands: 80 },
  'whisper-small': { width: 768, heads: 12, layers: 12, contexts: [1500, 448], melBands: 80 },
} as const satisfies Record<string, SpeechShape>;

export type SpeechShapeName = keyof typeof speechShapes;

export interface SyntheticSpeechOptions {
  readonly shape: SpeechShapeName;
  /** Format of the matrices; convolutions are f16 at most, vectors and positions f32. */
  readonly format: SyntheticFormat;
  /** Equal seeds give equal files, byte for byte. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Per option: valid values and default. */
export const syntheticSpeechSchema = {
  shape: { ...nameIn(speechShapes), about: 'model with the dimensions to copy', required: true },
  ...sharedSchema,
} as const satisfies Schema<SyntheticSpeechOptions>;

/** V of the multilingual models before large-v3. */
const vocabulary = 51_865;
const endOfText = 50_257;
const languageCount = 99;

/**
 * Writes a GGUF with a published Whisper's shape and random weights: true cost, meaningless output. Throws ModelError
 * BAD_ARGUMENT for an unknown shape or format, ABORTED; FileError WRITE_FAILED. A failure leaves no file.
 */
export async function makeSyntheticSpeechModel(path: string, options: SyntheticSpeechOptions): Promise<void> {
  checkSynthetic('makeSyntheticSpeechModel', path, options, syntheticSpeechSchema);
  const { shape: name, format, seed = 1, signal } = options;
  const shape: SpeechShape = speechShapes[name];
  const metadata = { ...sizes(shape), ...tokens(), 'general.name': `${name}, synthetic weights` };
  await writeGguf(path, { metadata, tensors: tensorsOf(shape, format, seed, signal) });
}

function stackOf({ width, heads, layers, contexts, melBands }: SpeechShape, which: 0 | 1): StackConfig {
  const headDim = width / heads;
  return {
    layers,
    width,
    heads,
    headDim,
    feedForward: 4 * width,
    context: contexts[which],
    vocabulary,
    melBands,
  };
}

function tensorsOf(
  shape: SpeechShape,
  format: SyntheticFormat,
  seed: number,
  signal: AbortSignal | undefined,
): TensorInput[] {
  const model = { layers: shape.layers, tied: true, groupedQueries: 1, experts: 0, weighted: false };
  const list = new TensorList(format, model, seed, signal);
  addStack(list, encoderWeights, stackOf(shape, 0), format);
  addStack(list, decoderWeights, stackOf(shape, 1), format);
  return list.tensors;
}

function addStack(
  list: TensorList,
  { model, layer }: WeightTable<StackConfig>,
  config: StackConfig,
  format: SyntheticFormat,
): void {
  const add = (entry: WeightEntry<StackConfig>, i: number) =>
    addTensor(list, entry.gguf.replace('{i}', String(i)), entry.shape(config), format);
  for (const entry of Object.values(model)) add(entry, 0);
  for (let i = 0; i < config.layers; i++) for (const entry of Object.values(layer)) add(entry, i);
}

/** Norms before matrices have outlier channels, the last norm of a stack has none. */
function addTensor(list: TensorList, name: string, shape: readonly number[], format: SyntheticFormat): void {
  const isConvolution = shape.length === 3; // mixes do not quantise them
  if (shape.length > 1) list.matrix(name, shape, isConvolution && format !== 'f32' ? 'f16' : 'f32');
  else if (/ln(_post)?\.weight$/.test(name)) list.norm(name, shape[0]!, name.includes('.blocks.'));
  else list.zeros(name, shape[0]!);
}

const sizes = ({ width, heads, layers, contexts, melBands }: SpeechShape): Record<string, MetadataInput> => ({
  'general.architecture': 'whisper',
  'whisper.n_vocab': vocabulary,
  'whisper.n_mels': melBands,
  'whisper.n_audio_ctx': contexts[0],
  'whisper.n_audio_state': width,
  'whisper.n_audio_head': heads,
  'whisper.n_audio_layer': layers,
  'whisper.n_text_ctx': contexts[1],
  'whisper.n_text_state': width,
  'whisper.n_text_head': heads,
  'whisper.n_text_layer': layers,
});

/** A vocabulary of true size: bytes, filler, and the special tokens at Whisper's ids. */
function tokens(): Record<string, MetadataInput> {
  const bytes = byteCharacters();
  const spellings = Array.from({ length: endOfText }, (_, id) => bytes[id] ?? `⟨${id}⟩`);
  const languages = Array.from({ length: languageCount }, (_, i) => (i === 0 ? 'en' : `language ${i}`));
  const names = [
    'endoftext',
    'startoftranscript',
    ...languages,
    'translate',
    'transcribe',
    'startoflm',
    'startofprev',
  ];
  const times = Array.from({ length: vocabulary - endOfText - names.length - 2 }, (_, i) =>
    (i * 0.02).toFixed(2),
  );
  for (const name of [...names, 'nospeech', 'notimestamps', ...times]) spellings.push(`<|${name}|>`);
  return {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'gpt-2',
    'tokenizer.ggml.tokens': spellings,
    'tokenizer.ggml.token_type': Int32Array.from(spellings, (_, id) => (id < endOfText ? 1 : 3)),
    'tokenizer.ggml.merges': { type: 'array', value: [] },
    'tokenizer.ggml.eos_token_id': endOfText,
    'tokenizer.ggml.add_bos_token': false,
  };
}
