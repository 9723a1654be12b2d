import { dirname, join } from 'node:path';
import { isGgml, type MetadataValue, openGgml, openGguf, openSafetensors } from '@quern/quant';
import { readJsonObject } from '../config/read-json.js';
import { ownValue, Settings } from '../config/settings.js';
import { exists, findModel } from '../find-model.js';
import { architectureName } from '../model-file.js';
import { needSpeech } from '../registry.js';
import { ggmlWeights, ggufWeights, safetensorsWeights, type WeightFile } from '../weights/weight-file.js';
import { type WhisperConfig, whisperConfigFromGgml, whisperConfigFromHuggingFace } from './config.js';

interface OpenedSpeech {
  /** The weight file, or the index of its shards. */
  readonly path: string;
  readonly config: WhisperConfig;
  readonly weights: WeightFile;
}

/** An opened speech model: its sizes and the places of its tensors. No weight has been read. */
export type SpeechFile =
  | (OpenedSpeech & {
      readonly kind: 'huggingFace';
      /** The folder of config.json and the tokenizer's files. */
      readonly folder: string;
      /** generation_config.json; empty: absent. */
      readonly generation: Readonly<Record<string, unknown>>;
    })
  | (OpenedSpeech & { readonly kind: 'gguf'; readonly metadata: ReadonlyMap<string, MetadataValue> })
  | (OpenedSpeech & {
      readonly kind: 'ggml';
      /** The bytes of each text token, by id. */
      readonly tokens: readonly Uint8Array[];
    });

/**
 * Opens a Whisper model: a Hugging Face folder, a GGUF file, or a whisper.cpp file. Reads headers and configuration
 * only.
 * @param options.config configuration file of a safetensors model, if not config.json
 * @throws ModelError NOT_FOUND, NO_MODEL, AMBIGUOUS_MODEL, UNKNOWN_ARCHITECTURE, WRONG_KIND, BAD_CONFIG or
 * UNSUPPORTED_CONFIG; FileError of @quern/quant for a broken file.
 */
export async function openSpeechModel(
  path: string,
  options: { readonly config?: string } = {},
): Promise<SpeechFile> {
  const found = await findModel(path, options.config);
  if (found.kind === 'huggingFace') return openFolder(found.weights, found.config);
  return (await isGgml(found.path)) ? openGgmlFile(found.path) : openGgufFile(found.path);
}

async function openFolder(path: string, configPath: string): Promise<SpeechFile> {
  const settings = new Settings(configPath, ownValue(await readJsonObject(configPath)));
  needSpeech('huggingFace', architectureName(settings), settings);
  const folder = dirname(configPath);
  const generationPath = join(folder, 'generation_config.json');
  return {
    kind: 'huggingFace',
    path,
    folder,
    config: whisperConfigFromHuggingFace(settings),
    weights: safetensorsWeights(await openSafetensors(path)),
    generation: (await exists(generationPath)) ? await readJsonObject(generationPath) : {},
  };
}

async function openGgufFile(path: string): Promise<SpeechFile> {
  const file = await openGguf(path);
  const { metadata } = file;
  const all = new Settings(path, (key) => metadata.get(key));
  needSpeech('gguf', all.text('general.architecture'), all);
  const settings = new Settings(path, (key) => metadata.get(`whisper.${key}`), 'whisper.');
  return {
    kind: 'gguf',
    path,
    config: whisperConfigFromGgml(settings),
    weights: ggufWeights(file),
    metadata,
  };
}

async function openGgmlFile(path: string): Promise<SpeechFile> {
  const file = await openGgml(path);
  const config = whisperConfigFromGgml(new Settings(path, (key) => file.sizes.get(key)));
  return { kind: 'ggml', path, config, weights: ggmlWeights(file), tokens: file.tokens };
}
