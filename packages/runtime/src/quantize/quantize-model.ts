import { dirname } from 'node:path';
import { findModel, type HuggingFaceModelFile, openModelFile, toGguf } from '@quern/models';
import { type MetadataInput, type QuantizeOptions, quantizeGguf, quantizeSource } from '@quern/quant';
import { templateOfFolder } from '../chat/load.js';
import { locateModel } from '../model/locate-model.js';
import { vocabularyToGguf } from '../tokenizer/to-gguf.js';

export interface QuantizeModelOptions extends QuantizeOptions {
  /** llama.cpp's name of how the tokenizer splits text, where the model's folder does not tell. */
  readonly pre?: string;
  /** Where installed model packages are looked for; the application's folder where absent. */
  readonly resolveFrom?: string;
}

/**
 * Writes a model as a GGUF file in a mix of formats: one of GGUF, or one of Hugging Face, which is converted on the way with
 * its vocabulary and chat template.
 * @throws RuntimeError MODEL_NOT_FOUND; ModelError, FileError, TokenizerError for what is wrong with the files; QuantizeError.
 */
export async function quantizeModel(
  pathOrId: string,
  output: string,
  options: QuantizeModelOptions,
): Promise<void> {
  const { resolveFrom, pre, ...rest } = options;
  const found = await findModel(locateModel(pathOrId, resolveFrom));
  const file = found.kind === 'gguf' ? found : await openModelFile(found.weights, { config: found.config });
  if (file.kind === 'gguf') return quantizeGguf(file.path, output, rest); // of any architecture
  const { onNotice, signal } = options;
  const source = await toGguf(file, {
    vocabulary: await textMetadata(file, pre, onNotice),
    ...(onNotice && { onNotice }),
    ...(signal && { signal }),
  });
  return quantizeSource(source, output, rest);
}

/** The vocabulary and the chat template of a folder, as metadata. */
async function textMetadata(
  { companions, config, path }: HuggingFaceModelFile,
  pre: string | undefined,
  onNotice: QuantizeOptions['onNotice'],
): Promise<ReadonlyMap<string, MetadataInput>> {
  const tokenizer = companions['tokenizer.json'];
  if (tokenizer === undefined) {
    onNotice?.(`${dirname(path)} has no tokenizer.json: the GGUF file will have no vocabulary`);
    return new Map();
  }
  const folder = dirname(tokenizer);
  const entries = await vocabularyToGguf(folder, {
    size: config.vocabulary,
    ...(pre !== undefined && { pre }),
  });
  const template = await templateOfFolder(folder);
  if (template !== undefined) entries.set('tokenizer.chat_template', template);
  return entries;
}
