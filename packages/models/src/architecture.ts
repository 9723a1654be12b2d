import type { Backend, RopeLayout, Weight } from '@quern/core';
import type { DecoderConfig } from './config/decoder-config.js';
import type { GgufSource } from './config/gguf.js';
import type { HuggingFaceSource } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import type { Decoder } from './decoder.js';
import { bert } from './encoder/bert.js';
import type { EncoderArchitecture } from './encoder/encoder.js';
import { nomicBert } from './encoder/nomic-bert.js';
import { roberta } from './encoder/roberta.js';
import { ModelError } from './error.js';
import { gemma2 } from './gemma2.js';
import { gemma3 } from './gemma3.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { mixtral } from './mixtral.js';
import { phi3 } from './phi3.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { qwen3Moe } from './qwen3-moe.js';
import type { Naming, WeightFile } from './weights/weight-file.js';
import type { WeightTable } from './weights/weight-table.js';

/** Weights as the loader hands them over; an architecture narrows them to `LoadedWeights<typeof itsTable>`. */
export interface AnyLoadedWeights {
  readonly layers: readonly Readonly<Record<string, Weight | undefined>>[];
  readonly [field: string]: unknown;
}

/** What of an architecture's GGUF files its other parts do not tell. */
export interface GgufForm {
  /** `general.architecture`. */
  readonly name: string;
  /** The order of the rows of q and k within a head; Hugging Face files have halves. */
  readonly rope: RopeLayout;
  /** Some layers may look back by a window and others all the way; llama.cpp takes each n-th to do so where the file does not say. */
  readonly windowPeriod?: number;
}

/** Everything that makes a family of models: how its files are read, and its forward pass. */
export interface Architecture {
  readonly name: string;
  /** What files call it: `general.architecture` in GGUF, an entry of `architectures` or `model_type` in config.json. */
  readonly names: Readonly<Record<Naming, readonly string[]>>;
  /** Another architecture that GGUF files of this name may hold. */
  ggufVariant?(settings: Settings): Architecture | undefined;
  readonly weights: WeightTable;
  /** The tensors of a Hugging Face file by the names of the table, where some files store several as one. */
  rename?(file: WeightFile): WeightFile;
  /** How its models of Hugging Face become GGUF files; absent where they cannot. */
  readonly gguf?: GgufForm;
  /** Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromGguf(source: GgufSource): DecoderConfig;
  /** Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromHuggingFace(source: HuggingFaceSource): DecoderConfig;
  /**
   * The forward pass over weights loaded by the table. Of a model on several backends, each builds its own: fields of layers
   * that lie elsewhere, and of ends that lie elsewhere, are then absent, so `build` itself reads no field.
   */
  build(backend: Backend, weights: AnyLoadedWeights, config: DecoderConfig): Decoder;
}

const registered: (Architecture | EncoderArchitecture)[] = [];

const isEncoder = (architecture: Architecture | EncoderArchitecture): architecture is EncoderArchitecture =>
  'kind' in architecture;

const namingOf: Readonly<Record<Naming, string>> = { gguf: 'GGUF', huggingFace: 'Hugging Face' };

/**
 * Adds an architecture, so that files which carry one of its names open.
 * @throws ModelError DUPLICATE_ARCHITECTURE where a name is taken.
 */
export function registerArchitecture(architecture: Architecture | EncoderArchitecture): void {
  for (const naming of ['gguf', 'huggingFace'] as const)
    for (const name of architecture.names[naming]) {
      const holder = registered.find(({ names }) => names[naming].includes(name));
      if (holder)
        throw new ModelError(
          'DUPLICATE_ARCHITECTURE',
          `the ${namingOf[naming]} name '${name}' already belongs to the architecture '${holder.name}'`,
        );
    }
  registered.push(architecture);
}

/**
 * The decoder that files of one kind call `name`.
 * @param path the file, for the message
 * @throws ModelError UNKNOWN_ARCHITECTURE, with the names that are known, or WRONG_KIND for an encoder.
 */
export function findArchitecture(naming: Naming, name: string, path: string): Architecture {
  const found = find(naming, name, path);
  if (!isEncoder(found)) return found;
  throw new ModelError(
    'WRONG_KIND',
    `${path}: '${name}' is an encoder: it embeds or ranks texts, and cannot generate any`,
  );
}

/**
 * The encoder that files of one kind call `name`.
 * @param path the file, for the message
 * @throws ModelError UNKNOWN_ARCHITECTURE, with the names that are known, or WRONG_KIND for a decoder.
 */
export function findEncoder(naming: Naming, name: string, path: string): EncoderArchitecture {
  const found = find(naming, name, path);
  if (isEncoder(found)) return found;
  throw new ModelError(
    'WRONG_KIND',
    `${path}: '${name}' is a language model: it generates text, and cannot embed it`,
  );
}

function find(naming: Naming, name: string, path: string): Architecture | EncoderArchitecture {
  const found = registered.find(({ names }) => names[naming].includes(name));
  if (found) return found;
  const known = registered.flatMap(({ names }) => names[naming]).join(', ');
  throw new ModelError(
    'UNKNOWN_ARCHITECTURE',
    `${path}: the architecture '${name}' is not known; known in ${namingOf[naming]} files: ${known}`,
  );
}

const ours = [
  llama,
  mistral,
  qwen2,
  qwen3,
  mixtral,
  qwen3Moe,
  gemma2,
  gemma3,
  phi3,
  bert,
  roberta,
  nomicBert,
];
for (const architecture of ours) registerArchitecture(architecture); // by the same door as everybody's
