import type { Schema } from '@quern/core';
import { chooseFormat, type MetadataInput, type TensorInput, writeGguf } from '@quern/quant';
import { type SyntheticFormat, syntheticFormats } from '../synthetic/formats.js';
import { randomMatrix } from '../synthetic/make-synthetic.js';
import { checkSynthetic, nameIn, sharedSchema } from '../synthetic/options.js';
import { byteCharacters } from '../synthetic/vocabulary.js';
import type { WeightEntry } from '../weights/weight-table.js';
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
  firstSeed: number,
  signal: AbortSignal | undefined,
): TensorInput[] {
  let seed = firstSeed;
  const mixed = { layers: shape.layers, tied: true, groupedQueries: 1, experts: 0, weighted: false };
  const tensor = (name: string, dimensions: readonly number[]): TensorInput => {
    const isNorm = /ln(_post)?\.weight$/.test(name);
    if (dimensions.length === 1) {
      const values = new Float32Array(dimensions[0]!).fill(isNorm ? 1 : 0);
      return { name, shape: dimensions, format: 'f32', data: new Uint8Array(values.buffer) };
    }
    const isConvolution = dimensions.length === 3; // mixes do not quantise them
    const given = {
      name,
      shape: dimensions,
      format: isConvolution && format !== 'f32' ? 'f16' : 'f32',
    } as const;
    const chosen = chooseFormat(given, syntheticFormats[format], mixed);
    const own = seed++;
    return {
      name,
      shape: dimensions,
      format: chosen.format,
      data: () => randomMatrix(chosen, dimensions, own, signal),
    };
  };
  const stack = (table: typeof encoderWeights | typeof decoderWeights, config: StackConfig) => {
    const entries = (fields: Readonly<Record<string, WeightEntry<StackConfig>>>, layer: number) =>
      Object.values(fields).map((entry) =>
        tensor(entry.gguf.replace('{i}', String(layer)), entry.shape(config)),
      );
    const layers = Array.from({ length: config.layers }, (_, i) => entries(table.layer, i));
    return [...entries(table.model, 0), ...layers.flat()];
  };
  return [...stack(encoderWeights, stackOf(shape, 0)), ...stack(decoderWeights, stackOf(shape, 1))];
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
