import { dirname } from 'node:path';
import { openGguf, openSafetensors } from '@quern/quant';
import { readEncoderConfig } from '../config/check-config.js';
import { readQuantisation } from '../config/quantisation.js';
import { readJsonObject } from '../config/read-json.js';
import { ownValue, Settings } from '../config/settings.js';
import { findModel } from '../find-model.js';
import {
  architectureName,
  companionsIn,
  type GgufModelFile,
  ggufSource,
  type HuggingFaceModelFile,
  type ModelFile,
  needAllLayers,
  needNoGgml,
} from '../model-file.js';
import { findEncoder } from '../registry.js';
import { renamed } from '../weights/rename.js';
import { ggufWeights, safetensorsWeights } from '../weights/weight-file.js';
import { withDense } from './dense.js';
import type { EncoderArchitecture } from './encoder.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { rankTemplate, rankTemplateKey } from './rank-template.js';
import { hasSentenceFiles, readSentenceFiles } from './sentence-files.js';

/** An opened encoder: its configuration and the places of its tensors. No weight has been read. */
export type EncoderFile = (
  | GgufModelFile<EncoderArchitecture, EncoderConfig>
  | HuggingFaceModelFile<EncoderArchitecture, EncoderConfig>
) & {
  /** Text prefixes by kind of text ('query', 'passage', …), from the files. */
  readonly prompts: Readonly<Record<string, string>>;
  /** A decoder that ranks: its prompt, with {query} and {document}. */
  readonly template?: string;
  /** False: a language model, whose files do not say that it embeds or ranks texts. */
  readonly embeds: boolean;
};

/**
 * Opens an encoder, or a decoder as one: a GGUF file, a safetensors file or index beside its config.json, or a folder with
 * one of these. Reads pooling and prompts from sentence-transformers' files in the same folder.
 * @param options.config configuration file of a safetensors model, if not config.json
 * @throws ModelError NOT_FOUND, NO_MODEL, AMBIGUOUS_MODEL, UNKNOWN_ARCHITECTURE, WRONG_KIND, BAD_CONFIG or
 * UNSUPPORTED_CONFIG; FileError of @quern/quant.
 */
export async function openEncoderFile(
  path: string,
  options: { readonly config?: string } = {},
): Promise<EncoderFile> {
  const found = await findModel(path, options.config);
  return found.kind === 'gguf' ? openGgufEncoder(found.path) : openFolder(found.weights, found.config);
}

/** Whether the files of a language model say that it embeds or ranks texts. */
export async function embedsTexts({ kind, metadata, path, weights }: ModelFile): Promise<boolean> {
  if (kind === 'huggingFace')
    return (
      metadata.is_causal === false ||
      weights.tensors.has('score.weight') ||
      (await hasSentenceFiles(dirname(path)))
    );
  const of = (key: string) => metadata.get(`${metadata.get('general.architecture')}.${key}`);
  return of('pooling_type') !== undefined || of('attention.causal') === false;
}

async function openGgufEncoder(path: string): Promise<EncoderFile> {
  await needNoGgml(path, 'encoder');
  const file = await openGguf(path);
  const { metadata } = file;
  const name = new Settings(path, (key) => metadata.get(key)).text('general.architecture');
  const settings = new Settings(path, (key) => metadata.get(`${name}.${key}`), `${name}.`);
  const architecture = findEncoder('gguf', name, settings);
  const weights = renamed(architecture, ggufWeights(file));
  const source = await ggufSource(file, settings, weights);
  const config = readEncoderConfig(architecture.name, 'configFromGguf', () =>
    withDense(architecture.configFromGguf(source), weights),
  );
  needAllLayers(settings, weights, config.layers);
  const template = rankTemplate(path, architecture, config, metadata.get(rankTemplateKey));
  const embeds = !config.causal || settings.has('pooling_type') || config.labels > 0;
  const opened = {
    kind: 'gguf',
    path,
    architecture,
    config,
    weights,
    metadata,
    prompts: {},
    embeds,
  } as const;
  return template === undefined ? opened : { ...opened, template };
}

async function openFolder(path: string, configPath: string): Promise<EncoderFile> {
  const metadata = await readJsonObject(configPath);
  const settings = new Settings(configPath, ownValue(metadata));
  const architecture = findEncoder('huggingFace', architectureName(settings), settings);
  const stored = safetensorsWeights(await openSafetensors(path), readQuantisation(settings));
  const folder = dirname(configPath);
  const found = await readSentenceFiles(folder, renamed(architecture, stored));
  const { weights, embedding, prompts } = found;
  const config = readEncoderConfig(architecture.name, 'configFromHuggingFace', () =>
    withDense(architecture.configFromHuggingFace({ settings, weights, embedding }), weights),
  );
  const template = rankTemplate(path, architecture, config);
  const opened = { kind: 'huggingFace', path, architecture, config, weights, metadata, prompts } as const;
  return {
    ...opened,
    companions: await companionsIn(folder),
    embeds: !config.causal || found.present || config.labels > 0,
    ...(template !== undefined && { template }),
  };
}
