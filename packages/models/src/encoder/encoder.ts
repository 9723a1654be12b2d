import type { Backend, Tensor } from '@quern/core';
import type { AnyLoadedWeights } from '../architecture.js';
import type { GgufSource } from '../config/gguf.js';
import type { HuggingFaceSource } from '../config/hugging-face.js';
import type { Naming, WeightFile } from '../weights/weight-file.js';
import type { WeightTable } from '../weights/weight-table.js';
import type { EncoderConfig } from './encoder-parameters.js';

/** A ragged batch of whole texts, T rows of S sequences, as tensors of a step. Nothing is padded. */
export interface EncoderBatch {
  /** [T] place of each row in its text, counted from the configuration's `firstPosition`. */
  readonly positions: Tensor;
  /** [T] which part of a pair each row belongs to, 0 or 1. */
  readonly segments: Tensor;
  /** [S + 1] where each sequence's rows begin. */
  readonly cuSeqlens: Tensor;
}

/** The parts of an encoder, as an architecture builds them from loaded weights. */
export interface Encoder {
  /** ids [T] → the states after the last layer [T, D]. */
  hidden(ids: Tensor, batch: EncoderBatch): Tensor;
  /** States of the first row of each text [S, D] → logits [S, labels]; absent where the file has no such head. */
  classify?(x: Tensor): Tensor;
}

/** Everything that makes a family of encoders: how its files are read, and its forward pass. */
export interface EncoderArchitecture {
  readonly kind: 'encoder';
  readonly name: string;
  /** What files call it: `general.architecture` in GGUF, an entry of `architectures` or `model_type` in config.json. */
  readonly names: Readonly<Record<Naming, readonly string[]>>;
  readonly weights: WeightTable<EncoderConfig>;
  /** How its models of Hugging Face become GGUF files: `general.architecture`; absent where they cannot. */
  readonly gguf?: { readonly name: string };
  /** The tensors of a file by the names of the table, where files differ in naming or store several as one. */
  rename(file: WeightFile): WeightFile;
  /** `weights` are renamed. Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromGguf(source: GgufSource): EncoderConfig;
  /** `weights` are renamed. Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromHuggingFace(source: HuggingFaceSource): EncoderConfig;
  /** The forward pass over weights loaded by the table. */
  build(backend: Backend, weights: AnyLoadedWeights, config: EncoderConfig): Encoder;
}
