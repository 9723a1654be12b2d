import { dirname, join } from 'node:path';
import type { Pooling } from '@quern/core';
import { openGguf, openSafetensors } from '@quern/quant';
import { readEncoderConfig } from '../config/check-config.js';
import { limits } from '../config/decoder-config.js';
import { readQuantisation } from '../config/quantisation.js';
import { readJsonList, readJsonObject } from '../config/read-json.js';
import { ownValue, Settings } from '../config/settings.js';
import { exists, findModel } from '../find-model.js';
import {
  architectureName,
  companionsIn,
  type GgufModelFile,
  type HuggingFaceModelFile,
  needAllLayers,
  needNoGgml,
  tokenCount,
} from '../model-file.js';
import { findEncoder } from '../registry.js';
import { renamed } from '../weights/rename.js';
import { ggufWeights, safetensorsWeights } from '../weights/weight-file.js';
import type { EncoderArchitecture } from './encoder.js';
import type { EmbeddingRules, EncoderConfig } from './encoder-parameters.js';

/** An opened encoder: its configuration and the places of its tensors. No weight has been read. */
export type EncoderFile = (
  | GgufModelFile<EncoderArchitecture, EncoderConfig>
  | HuggingFaceModelFile<EncoderArchitecture, EncoderConfig>
) & {
  /** Text prefixes by kind of text ('query', 'passage', …), from the files. */
  readonly prompts: Readonly<Record<string, string>>;
};

/**
 * Opens an encoder: a GGUF file, a safetensors file or index beside its config.json, or a folder with one of these.
 * Reads pooling and prompts from sentence-transformers' files in the same folder.
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

async function openGgufEncoder(path: string): Promise<EncoderFile> {
  await needNoGgml(path, 'encoder');
  const file = await openGguf(path);
  const { metadata } = file;
  const name = new Settings(path, (key) => metadata.get(key)).text('general.architecture');
  const settings = new Settings(path, (key) => metadata.get(`${name}.${key}`), `${name}.`);
  const architecture = findEncoder('gguf', name, settings);
  const weights = renamed(architecture, ggufWeights(file));
  const source = { settings, weights, tokens: tokenCount(file), ropeFactors: undefined };
  const config = readEncoderConfig(architecture.name, 'configFromGguf', () =>
    architecture.configFromGguf(source),
  );
  needAllLayers(settings, weights, config.layers);
  return { kind: 'gguf', path, architecture, config, weights, metadata, prompts: {} };
}

async function openFolder(path: string, configPath: string): Promise<EncoderFile> {
  const metadata = await readJsonObject(configPath);
  const settings = new Settings(configPath, ownValue(metadata));
  const architecture = findEncoder('huggingFace', architectureName(settings), settings);
  const stored = safetensorsWeights(await openSafetensors(path), readQuantisation(settings));
  const weights = renamed(architecture, stored);
  const folder = dirname(configPath);
  const embedding = await readEmbeddingRules(folder);
  const config = readEncoderConfig(architecture.name, 'configFromHuggingFace', () =>
    architecture.configFromHuggingFace({ settings, weights, embedding }),
  );
  const companions = await companionsIn(folder);
  const prompts = await readPrompts(folder);
  return { kind: 'huggingFace', path, architecture, config, weights, metadata, companions, prompts };
}

async function settingsIn(folder: string, ...names: string[]): Promise<Settings | undefined> {
  const path = join(folder, ...names);
  return (await exists(path)) ? new Settings(path, ownValue(await readJsonObject(path))) : undefined;
}

const poolingKeys: Readonly<Record<string, Pooling>> = {
  pooling_mode_cls_token: 'cls',
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_lasttoken: 'last',
};

function readPooling(settings: Settings): Pooling {
  const chosen = Object.keys(poolingKeys).filter((key) => settings.flag(key));
  for (const other of ['max_tokens', 'mean_sqrt_len_tokens', 'weightedmean_tokens'])
    if (settings.flag(`pooling_mode_${other}`))
      settings.refuse(`pooling_mode_${other}`, 'texts are pooled by cls, mean or last token');
  if (chosen.length > 1)
    settings.refuse(chosen[1]!, `only one pooling is supported, and ${chosen[0]} is also on`);
  return poolingKeys[chosen[0] ?? 'pooling_mode_mean_tokens']!;
}

/** Module types of a sentence-transformers folder, in order; undefined: the folder has no list. */
async function moduleTypes(folder: string): Promise<readonly string[] | undefined> {
  const path = join(folder, 'modules.json');
  if (!(await exists(path))) return undefined;
  const modules = await readJsonList(path);
  return modules.map((module) => new Settings(path, ownValue(module)).text('type'));
}

async function readEmbeddingRules(folder: string): Promise<EmbeddingRules> {
  const pooling = await settingsIn(folder, '1_Pooling', 'config.json');
  const transformer = await settingsIn(folder, 'sentence_bert_config.json');
  const types = await moduleTypes(folder);
  const dense = types?.find((type) => type.endsWith('.Dense'));
  if (dense)
    new Settings(join(folder, 'modules.json'), () => dense).refuse(
      'type',
      'a matrix after the pooling is not supported',
    );
  return {
    pooling: pooling ? readPooling(pooling) : 'mean',
    normalise: types?.some((type) => type.endsWith('.Normalize')) ?? true,
    ...(transformer?.has('max_seq_length') && {
      maxTokens: transformer.whole('max_seq_length', limits.context),
    }),
  };
}

async function readPrompts(folder: string): Promise<Readonly<Record<string, string>>> {
  const settings = await settingsIn(folder, 'config_sentence_transformers.json');
  const prompts = settings?.section('prompts');
  return prompts?.strings() ?? {};
}
