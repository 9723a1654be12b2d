import type { Backend, RopeLayout, Weight } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import type { DecoderConfig } from './config/decoder-config.js';
import type { GgufSource } from './config/gguf.js';
import type { HuggingFaceSource } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import type { Decoder } from './decoder.js';
import type { Naming, WeightFile } from './weights/weight-file.js';
import type { DecoderWeightTable } from './weights/weight-table.js';

/** Loaded weights of any table; an architecture casts them to `LoadedWeights<typeof itsTable>`. */
export interface AnyLoadedWeights {
  readonly layers: readonly Readonly<Record<string, Weight | undefined>>[];
  readonly [field: string]: unknown;
}

/** Facts of an architecture's GGUF files that the weight table and the configuration do not hold. */
export interface GgufForm {
  /** `general.architecture`. */
  readonly name: string;
  /**
   * Row order of q and k within a head, where Hugging Face files have 'halves'. 'kept': both kinds of file have the same
   * other order (Cohere).
   */
  readonly rope: RopeLayout | 'kept';
  /**
   * For models with full and window attention: llama.cpp gives every n-th layer full attention. Used if the file has no
   * pattern.
   */
  readonly windowPeriod?: number;
  /** The norms are LayerNorms: their epsilon has another key. */
  readonly layerNorm?: true;
  /** llama.cpp reads how such models weigh experts, and which first layers are dense. */
  readonly routed?: true;
  /** Metadata of this architecture alone, without its prefix. */
  metadata?(config: DecoderConfig): Readonly<Record<string, MetadataInput>>;
  /** What llama.cpp computes differently, regardless of the metadata: the end of a notice. */
  llamaCppDiffers?(config: DecoderConfig): string | undefined;
}

/** One model family: how to read its files, and its forward pass. */
export interface Architecture {
  readonly name: string;
  /** What files call it: `general.architecture` in GGUF, an entry of `architectures` or `model_type` in config.json. */
  readonly names: Readonly<Record<Naming, readonly string[]>>;
  /**
   * For a name that several architectures share (Mixtral's GGUF files are called 'llama'): whether a file is of this
   * one. An architecture that accepts a file comes before one without `accepts`. Absent: all files with its names.
   */
  accepts?(settings: Settings, naming: Naming): boolean;
  readonly weights: DecoderWeightTable;
  /** Renames tensors of a Hugging Face file to the table's names; splits fused tensors. */
  rename?(file: WeightFile): WeightFile;
  /** How to convert its Hugging Face models to GGUF; absent: not possible. */
  readonly gguf?: GgufForm;
  /** Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromGguf(source: GgufSource): DecoderConfig;
  /** Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromHuggingFace(source: HuggingFaceSource): DecoderConfig;
  /**
   * The forward pass over loaded weights. A model on several backends has one `Decoder` per backend, with only that
   * backend's weights. So `build` itself must not read a weight; the functions of `Decoder` do. `build` is synchronous.
   */
  build(backend: Backend, weights: AnyLoadedWeights, config: DecoderConfig): Decoder;
}
