import type { Schema } from '@quern/core';
import { type MetadataInput, type TensorInput, writeGguf } from '@quern/quant';
import type { Architecture, GgufForm } from '../architecture.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import { ggufMetadata, ropeTensors } from '../convert/gguf-metadata.js';
import { gemma3 } from '../gemma3.js';
import { llama } from '../llama.js';
import { phi3 } from '../phi3.js';
import { qwen3 } from '../qwen3.js';
import { qwen3Moe } from '../qwen3-moe.js';
import type { WeightTable } from '../weights/weight-table.js';
import type { SyntheticFormat } from './formats.js';
import { checkSynthetic, nameIn, sharedSchema } from './options.js';
import { shapeConfig } from './shape-config.js';
import { type ModelShape, type ModelShapeName, modelShapes } from './shapes.js';
import { TensorList } from './tensor-list.js';
import { syntheticVocabulary } from './vocabulary.js';

export interface SyntheticOptions {
  readonly shape: ModelShapeName;
  readonly format: SyntheticFormat;
  /** Equal seeds give equal files, byte for byte. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

type Weights = Omit<SyntheticOptions, 'shape'>;

/** Per option: valid values and default. */
export const syntheticSchema = {
  shape: { ...nameIn(modelShapes), about: 'model with the dimensions to copy', required: true },
  ...sharedSchema,
} as const satisfies Schema<SyntheticOptions>;

/** Architectures of the shapes, by GGUF name. */
const architectures: Readonly<Record<ModelShape['architecture'], Architecture>> = {
  ...{ llama, qwen3, gemma3, phi3 },
  qwen3moe: qwen3Moe,
};

/**
 * Norms before matrices have outlier channels. The last norm and those after a block (Gemma) have none: a few tokens
 * would have all large logits, and the residual stream would grow.
 */
const hasOutliers = (name: string): boolean => /\.(attn|ffn|attn_k)_norm\.weight$/.test(name);

/** Adds each tensor once, also if several parameters share it: random matrices; vectors are norms. */
function addTensors(
  list: TensorList,
  entries: WeightTable['model'],
  config: DecoderConfig,
  layer: number,
): void {
  for (const entry of Object.values(entries)) {
    const name = entry.gguf.replace('{i}', String(layer));
    if (
      entry.optional ||
      entry.constant !== undefined ||
      entry.when?.(config, layer) === false ||
      list.has(name)
    )
      continue;
    const [count, ...rest] = entry.shape(config);
    if (rest.length === 0) list.norm(name, count!, hasOutliers(name));
    else list.matrix(name, [entry.rows?.(config).of ?? count!, ...rest]);
  }
}

function tensorsOf(
  { weights: { model, layer } }: Architecture,
  config: DecoderConfig,
  { format, seed = 1, signal }: Weights,
): readonly TensorInput[] {
  const mixed = {
    layers: config.layers,
    tied: config.tied,
    groupedQueries: config.heads / config.kvHeads,
    experts: config.mixture?.experts ?? 0,
    weighted: false,
  };
  const list = new TensorList(format, mixed, seed, signal);
  const { embedding, ...others } = model;
  addTensors(list, { embedding: embedding! }, config, 0);
  for (let i = 0; i < config.layers; i++) addTensors(list, layer, config, i);
  addTensors(list, others, config, 0);
  return list.tensors;
}

function metadataOf(name: string, form: GgufForm, config: DecoderConfig): Record<string, MetadataInput> {
  return {
    'general.architecture': form.name,
    'general.name': `${name}, synthetic weights`,
    ...ggufMetadata(form, config),
    ...syntheticVocabulary(config.vocabulary, form.name === 'llama' ? 'llama-bpe' : 'qwen2'),
  };
}

/** Metadata and tensors of the file; random weights are made at writing. */
export function syntheticModel(name: string, shape: ModelShape, options: Weights) {
  const architecture = architectures[shape.architecture];
  const config = shapeConfig(shape);
  return {
    metadata: metadataOf(name, architecture.gguf!, config),
    tensors: [...tensorsOf(architecture, config, options), ...ropeTensors(config)],
  };
}

/**
 * Writes a GGUF with a model's true shape and random weights: true cost, meaningless output. Throws ModelError
 * BAD_ARGUMENT for an unknown shape or format, ABORTED; FileError WRITE_FAILED. A failure leaves no file.
 */
export async function makeSyntheticModel(path: string, options: SyntheticOptions): Promise<void> {
  checkSynthetic('makeSyntheticModel', path, options, syntheticSchema);
  const { shape, ...weights } = options;
  await writeGguf(path, syntheticModel(shape, modelShapes[shape], weights));
}
