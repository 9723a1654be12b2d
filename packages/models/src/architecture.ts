import type { Backend, RopeLayout, Weight } from '@quern/core';
import type { DecoderConfig } from './config/decoder-config.js';
import type { GgufSource } from './config/gguf.js';
import type { HuggingFaceSource } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import type { Decoder } from './decoder.js';
import type { Naming, WeightFile } from './weights/weight-file.js';
import type { DecoderWeightTable } from './weights/weight-table.js';

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
  /** What llama.cpp computes otherwise, whatever the file says: the end of a notice. */
  llamaCppDiffers?(config: DecoderConfig): string | undefined;
}

/** Everything that makes a family of models: how its files are read, and its forward pass. */
export interface Architecture {
  readonly name: string;
  /** What files call it: `general.architecture` in GGUF, an entry of `architectures` or `model_type` in config.json. */
  readonly names: Readonly<Record<Naming, readonly string[]>>;
  /** Another architecture that GGUF files of this name may hold. */
  ggufVariant?(settings: Settings): Architecture | undefined;
  readonly weights: DecoderWeightTable;
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
