import { dirname } from 'node:path';
import { checkArgument, checkOptions, type Refuse, rules, type Schema } from '@quern/core';
import {
  type CompanionName,
  type ConvertOptions,
  encoderToGguf,
  findModel,
  ModelError,
  type SpeechFile,
  speechToGguf,
  toGguf,
} from '@quern/models';
import {
  isGgml,
  type MetadataInput,
  QuantizeError,
  type QuantizeOptions,
  type QuantizeSource,
  quantizeGguf,
  quantizeSchema,
  quantizeSource,
} from '@quern/quant';
import { templateOfFolder } from '../chat/load.js';
import { loadSchema } from '../model/load-options.js';
import { locateModel, type ModelLocator } from '../model/locate-model.js';
import { openAnyModel } from '../model/open-any-model.js';
import { openSpeechModel } from '../model/open-file.js';
import { vocabularyToGguf } from '../tokenizer/to-gguf.js';
import { speechVocabularyToGguf } from './speech-vocabulary.js';

export interface QuantizeModelOptions extends QuantizeOptions {
  /** llama.cpp's name of the tokenizer's pre-tokenization, where the model's folder does not tell it. */
  readonly pre?: string | undefined;
  /** Folder: the packages in its nearest package.json are searched for models and architectures. Default: the application's folder. */
  readonly resolveFrom?: string | undefined;
}

/** What each option must be, and its default. */
export const quantizeModelSchema = {
  ...quantizeSchema,
  pre: {
    ...rules.text,
    about: "llama.cpp's name of the tokenizer's pre-tokenization",
    absent: "from the model's folder",
  },
  resolveFrom: loadSchema.resolveFrom,
} as const satisfies Schema<QuantizeModelOptions>;

const refuse: Refuse = (message) => new QuantizeError('BAD_ARGUMENT', message);

/**
 * Writes a model as a GGUF file in a mix of formats. Sources: GGUF (any architecture), whisper.cpp, or Hugging Face; a
 * Hugging Face model is converted with its vocabulary and chat template.
 * @throws RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT; ModelError, FileError, TokenizerError for faults of the files;
 * QuantizeError.
 */
export async function quantizeModel(
  pathOrId: ModelLocator,
  output: string,
  options: QuantizeModelOptions,
): Promise<void> {
  checkArgument('quantizeModel', 'output', output, rules.path, refuse);
  checkOptions('quantizeModel', options, quantizeModelSchema, refuse);
  const { resolveFrom, pre, ...rest } = options;
  const found = await findModel(
    await locateModel('quantizeModel', pathOrId, resolveFrom, { signal: options.signal }),
  );
  if (found.kind === 'gguf' && !(await isGgml(found.path))) return quantizeGguf(found.path, output, rest);
  const source =
    found.kind === 'gguf'
      ? await speechSource(await openSpeechModel(found.path, options), options)
      : await folderSource(found.weights, found.config, options);
  return quantizeSource(source, output, rest);
}

/** A Hugging Face folder with a model of any kind. */
async function folderSource(
  weights: string,
  config: string,
  options: QuantizeModelOptions,
): Promise<QuantizeSource> {
  const { resolveFrom, onNotice } = options;
  const { kind, file } = await openAnyModel(weights, { config, resolveFrom, onNotice });
  if (kind === 'speech') return speechSource(file, options);
  if (file.kind !== 'huggingFace') throw new ModelError('NO_MODEL', `${weights} is no model of Hugging Face`);
  const converting = await convertOptions(file, options);
  if (kind === 'language') return toGguf(file, converting);
  if (Object.keys(file.prompts).length > 0)
    options.onNotice?.(
      `${file.path}: GGUF has no place for its prompts (${Object.keys(file.prompts).join(', ')}): write them before texts yourself`,
    );
  return encoderToGguf(file, converting);
}

async function speechSource(file: SpeechFile, options: QuantizeModelOptions): Promise<QuantizeSource> {
  const { vocabulary } = file.config;
  if (file.kind === 'ggml')
    return speechToGguf(file, {
      ...heard(options),
      vocabulary: speechVocabularyToGguf(file.tokens, vocabulary),
    });
  if (file.kind === 'gguf') throw new ModelError('NO_MODEL', `${file.path} is a GGUF file already`);
  if ('alignment_heads' in file.generation)
    options.onNotice?.(
      `${file.path}: GGUF has no place for its alignment_heads: times of words will be told by the upper half of the layers`,
    );
  const entries = await vocabularyToGguf(file.folder, {
    size: vocabulary,
    ...preOf(options),
  });
  return speechToGguf(file, { ...heard(options), vocabulary: entries });
}

const preOf = ({ pre }: QuantizeModelOptions) => (pre !== undefined ? { pre } : {});

const heard = ({ onNotice, signal }: QuantizeModelOptions): ConvertOptions => ({
  ...(onNotice && { onNotice }),
  ...(signal && { signal }),
});

interface TextFolder {
  readonly path: string;
  readonly config: { readonly vocabulary: number };
  readonly companions: Readonly<Partial<Record<CompanionName, string>>>;
}

/** Adds the vocabulary and the chat template of a folder as metadata. */
async function convertOptions(
  { companions, config, path }: TextFolder,
  options: QuantizeModelOptions,
): Promise<ConvertOptions> {
  const tokenizer = companions['tokenizer.json'];
  if (tokenizer === undefined) {
    options.onNotice?.(`${dirname(path)} has no tokenizer.json: the GGUF file will have no vocabulary`);
    return heard(options);
  }
  const folder = dirname(tokenizer);
  const vocabulary: Map<string, MetadataInput> = await vocabularyToGguf(folder, {
    size: config.vocabulary,
    ...preOf(options),
    onNotice: options.onNotice,
  });
  const template = await templateOfFolder(folder);
  if (template !== undefined) vocabulary.set('tokenizer.chat_template', template);
  return { ...heard(options), vocabulary };
}
