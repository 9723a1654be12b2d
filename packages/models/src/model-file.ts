import { dirname, join } from 'node:path';
import { type GgufFile, isGgml, type MetadataValue, openGguf, openSafetensors } from '@quern/quant';
import type { Architecture } from './architecture.js';
import { readDecoderConfig } from './config/check-config.js';
import type { DecoderConfig } from './config/decoder-config.js';
import type { GgufSource } from './config/gguf.js';
import { readQuantisation } from './config/quantisation.js';
import { readJsonObject } from './config/read-json.js';
import { ownValue, Settings } from './config/settings.js';
import { exists, findModel } from './find-model.js';
import { findArchitecture } from './registry.js';
import { decodeToF32 } from './weights/decode-weight.js';
import { renamed } from './weights/rename.js';
import { ggufWeights, safetensorsWeights, type WeightFile } from './weights/weight-file.js';
import { type ArchitectureKind, wrongKind } from './wrong-kind.js';

interface OpenedModel<A = Architecture, C = DecoderConfig> {
  /** The GGUF file, or the safetensors file or index. */
  readonly path: string;
  readonly architecture: A;
  readonly config: C;
  readonly weights: WeightFile;
}

/** A model in a GGUF file. Its tokenizer and chat template are in the metadata (`tokenizer.*`). */
export interface GgufModelFile<A = Architecture, C = DecoderConfig> extends OpenedModel<A, C> {
  readonly kind: 'gguf';
  readonly metadata: ReadonlyMap<string, MetadataValue>;
}

/** A model in Hugging Face transformers' layout. */
export interface HuggingFaceModelFile<A = Architecture, C = DecoderConfig> extends OpenedModel<A, C> {
  readonly kind: 'huggingFace';
  /** The parsed config.json. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Paths of `companionNames` that exist beside config.json. */
  readonly companions: Readonly<Partial<Record<CompanionName, string>>>;
}

/** An opened model: its configuration and the places of its tensors. No weight has been read. */
export type ModelFile = GgufModelFile | HuggingFaceModelFile;

/** Files beside config.json for the tokenizer and the generator. */
export const companionNames = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'generation_config.json',
  'chat_template.jinja',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
] as const;
export type CompanionName = (typeof companionNames)[number];

/**
 * Opens a model: a GGUF file (any part of a split one), a safetensors file or index beside its config.json, or a folder with
 * one of these. Reads headers and configuration only.
 * @param options.config configuration file of a safetensors model, if not config.json
 * @throws ModelError NOT_FOUND, NO_MODEL, AMBIGUOUS_MODEL, UNKNOWN_ARCHITECTURE, WRONG_KIND, BAD_CONFIG or UNSUPPORTED_CONFIG;
 * FileError of @quern/quant for a broken file or a tensor of unknown format.
 */
export async function openModelFile(
  path: string,
  options: { readonly config?: string } = {},
): Promise<ModelFile> {
  const found = await findModel(path, options.config);
  return found.kind === 'gguf'
    ? openGgufModel(found.path)
    : openHuggingFaceModel(found.weights, found.config);
}

async function openGgufModel(path: string): Promise<GgufModelFile> {
  await needNoGgml(path, 'language');
  const file = await openGguf(path);
  const { metadata } = file;
  const name = new Settings(path, (key) => metadata.get(key)).text('general.architecture');
  const settings = new Settings(path, (key) => metadata.get(`${name}.${key}`), `${name}.`);
  const architecture = findArchitecture('gguf', name, settings);
  const weights = ggufWeights(file);
  const source = await ggufSource(file, settings, weights);
  const config = readDecoderConfig(architecture.name, 'configFromGguf', () =>
    architecture.configFromGguf(source),
  );
  needAllLayers(settings, weights, config.layers + (config.nextN ?? 0));
  return { kind: 'gguf', path, architecture, config, weights, metadata };
}

export const ggufSource = async (
  file: GgufFile,
  settings: Settings,
  weights: WeightFile,
): Promise<GgufSource> => ({
  settings,
  weights,
  tokens: tokenCount(file),
  ropeFactors: await readFactors(weights, 'rope_freqs.weight'),
  ...(await readLongRope(weights)),
});

/** A file with more layers than it counts would compute nonsense. @throws ModelError BAD_CONFIG */
export function needAllLayers(settings: Settings, { tensors }: WeightFile, layers: number): void {
  for (const name of tensors.keys()) {
    const layer = Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? 0);
    if (layer >= layers)
      settings.fail('block_count', `at least ${layer + 1}, because the file has the tensor '${name}'`);
  }
}

/** Files of whisper.cpp hold speech models. @throws ModelError WRONG_KIND */
export async function needNoGgml(path: string, wanted: ArchitectureKind): Promise<void> {
  if (await isGgml(path)) throw wrongKind(path, 'whisper', 'speech', wanted);
}

function tokenCount({ metadata }: GgufFile): number {
  const tokens = metadata.get('tokenizer.ggml.tokens');
  return Array.isArray(tokens) ? tokens.length : 0;
}

async function readFactors(weights: WeightFile, name: string): Promise<readonly number[] | undefined> {
  const tensor = weights.tensors.get(name);
  return tensor && Array.from(await decodeToF32(tensor));
}

async function readLongRope(weights: WeightFile): Promise<Pick<GgufSource, 'longRopeFactors'>> {
  const long = await readFactors(weights, 'rope_factors_long.weight');
  const short = await readFactors(weights, 'rope_factors_short.weight');
  return long || short ? { longRopeFactors: { long: long ?? [], short: short ?? [] } } : {};
}

async function openHuggingFaceModel(path: string, configPath: string): Promise<HuggingFaceModelFile> {
  const metadata = await readJsonObject(configPath);
  const settings = new Settings(configPath, ownValue(metadata));
  const architecture = findArchitecture('huggingFace', architectureName(settings), settings);
  const stored = safetensorsWeights(await openSafetensors(path), readQuantisation(settings));
  const weights = renamed(architecture, stored);
  const config = readDecoderConfig(architecture.name, 'configFromHuggingFace', () =>
    architecture.configFromHuggingFace({ settings, weights }),
  );
  const companions = await companionsIn(dirname(configPath));
  return { kind: 'huggingFace', path, architecture, config, weights, metadata, companions };
}

/** `architectures` (the saved class) is preferred over `model_type`: a classifier's class differs by its head. */
export function architectureName(settings: Settings): string {
  const [first] = settings.texts('architectures') ?? [];
  return first ?? settings.text('model_type');
}

export async function companionsIn(folder: string): Promise<HuggingFaceModelFile['companions']> {
  const companions: Partial<Record<CompanionName, string>> = {};
  for (const name of companionNames)
    if (await exists(join(folder, name))) companions[name] = join(folder, name);
  return companions;
}
