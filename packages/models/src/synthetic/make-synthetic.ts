import type { Schema } from '@quern/core';
import {
  byteLength,
  type ChosenFormat,
  chooseFormat,
  formats,
  type MetadataInput,
  type MixedModel,
  type TensorInput,
  writeGguf,
} from '@quern/quant';
import type { Architecture, GgufForm } from '../architecture.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import { ggufMetadata, ropeTensors } from '../convert/gguf-metadata.js';
import { ModelError } from '../error.js';
import { gemma3 } from '../gemma3.js';
import { llama } from '../llama.js';
import { phi3 } from '../phi3.js';
import { qwen3 } from '../qwen3.js';
import { qwen3Moe } from '../qwen3-moe.js';
import type { WeightTable } from '../weights/weight-table.js';
import { type SyntheticFormat, syntheticFormats } from './formats.js';
import { checkSynthetic, nameIn, sharedSchema } from './options.js';
import { fillBlocks, RandomWords } from './random-blocks.js';
import { shapeConfig } from './shape-config.js';
import { type ModelShape, type ModelShapeName, modelShapes } from './shapes.js';
import { syntheticVocabulary } from './vocabulary.js';

export interface SyntheticOptions {
  readonly shape: ModelShapeName;
  readonly format: SyntheticFormat;
  /** Equal seeds give equal files, byte for byte. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Per option: valid values and default. */
export const syntheticSchema = {
  shape: { ...nameIn(modelShapes), about: 'model with the dimensions to copy', required: true },
  ...sharedSchema,
} as const satisfies Schema<SyntheticOptions>;

/** Bytes per write; a multiple of every block size. */
const pieceBytes = 1 << 22;

function needNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new ModelError('ABORTED', 'making the model was aborted', { cause: signal.reason });
}

/** Random blocks of one matrix, piece by piece: bounded memory. */
export async function* randomMatrix(
  { format, sharesScales }: ChosenFormat,
  shape: readonly number[],
  seed: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const words = new RandomWords(seed);
  const deviation = 1 / Math.sqrt(shape[shape.length - 1]!);
  const { blockBytes } = formats[format];
  const piece = Math.floor(pieceBytes / blockBytes) * blockBytes;
  const total = byteLength(format, shape);
  for (let done = 0; done < total; done += piece) {
    needNotAborted(signal);
    const bytes = new Uint8Array(Math.min(piece, total - done));
    fillBlocks(format, bytes, words, deviation, sharesScales);
    yield bytes;
  }
}

/** Collects tensors in file order, each with its own seed. */
export class TensorList {
  readonly tensors: TensorInput[] = [];

  constructor(
    private readonly format: SyntheticFormat,
    private readonly model: MixedModel,
    private readonly seed: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  has(name: string): boolean {
    return this.tensors.some((tensor) => tensor.name === name);
  }

  /** Adds a matrix in the mix's format for `name`. */
  matrix(name: string, shape: readonly number[]): void {
    this.add(
      name,
      shape,
      chooseFormat({ name, shape, format: 'f32' }, syntheticFormats[this.format], this.model),
    );
  }

  /** Adds an f32 tensor, whatever the mix. */
  floats(name: string, shape: readonly number[]): void {
    this.add(name, shape, { format: 'f32' });
  }

  norm(name: string, width: number): void {
    this.vector(name, width, 1);
  }

  vector(name: string, width: number, value: number): void {
    const values = new Float32Array(width).fill(value);
    this.tensors.push({ name, shape: [width], format: 'f32', data: new Uint8Array(values.buffer) });
  }

  private add(name: string, shape: readonly number[], chosen: ChosenFormat): void {
    const seed = this.seed + 7919 * this.tensors.length;
    const data = () => randomMatrix(chosen, shape, seed, this.signal);
    this.tensors.push({ name, shape, format: chosen.format, data });
  }
}

/** Architectures of the shapes, by GGUF name. */
const architectures = { llama, qwen3, qwen3moe: qwen3Moe, gemma3, phi3 } satisfies Record<
  ModelShape['architecture'],
  Architecture & { readonly gguf: GgufForm }
>;

/** Adds each tensor once, also if several parameters share it: random matrices; vectors (all are norms) of ones. */
function addTensors(
  list: TensorList,
  entries: WeightTable['model'],
  config: DecoderConfig,
  layer: number,
): void {
  for (const entry of Object.values(entries)) {
    const name = entry.gguf.replace('{i}', String(layer));
    if (entry.optional || entry.when?.(config, layer) === false || list.has(name)) continue;
    const [count, ...rest] = entry.shape(config);
    if (rest.length === 0) list.norm(name, count!);
    else list.matrix(name, [entry.rows?.(config).of ?? count!, ...rest]);
  }
}

function tensorsOf(
  { weights: { model, layer } }: Architecture,
  config: DecoderConfig,
  { format, seed = 1, signal }: SyntheticOptions,
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

function metadataOf(
  { shape }: SyntheticOptions,
  form: GgufForm,
  config: DecoderConfig,
): Record<string, MetadataInput> {
  return {
    'general.architecture': form.name,
    'general.name': `${shape}, synthetic weights`,
    ...ggufMetadata(form, config),
    ...syntheticVocabulary(config.vocabulary, form.name === 'llama' ? 'llama-bpe' : 'qwen2'),
  };
}

/** Metadata and tensors of the file; random weights are made at writing. */
export function syntheticModel(options: SyntheticOptions) {
  const shape: ModelShape = modelShapes[options.shape];
  const architecture = architectures[shape.architecture];
  const config = shapeConfig(shape);
  return {
    metadata: metadataOf(options, architecture.gguf, config),
    tensors: [...tensorsOf(architecture, config, options), ...ropeTensors(config)],
  };
}

/**
 * Writes a GGUF with a model's true shape and random weights: true cost, meaningless output. Throws ModelError
 * BAD_ARGUMENT for an unknown shape or format, ABORTED; FileError WRITE_FAILED. A failure leaves no file.
 */
export async function makeSyntheticModel(path: string, options: SyntheticOptions): Promise<void> {
  checkSynthetic('makeSyntheticModel', path, options, syntheticSchema);
  await writeGguf(path, syntheticModel(options));
}
