import type { Backend, Tensor } from '@quern/core';
import type { AnyLoadedWeights } from '../architecture.js';
import type { GgufSource } from '../config/gguf.js';
import type { HuggingFaceSource } from '../config/hugging-face.js';
import type { Settings } from '../config/settings.js';
import type { Naming, WeightFile } from '../weights/weight-file.js';
import type { WeightTable } from '../weights/weight-table.js';
import type { EncoderConfig } from './encoder-parameters.js';

/** Host arrays of `WindowRows`. */
export interface WindowArrays {
  readonly ahead: Int32Array;
  readonly back: Int32Array;
  readonly inside: Float32Array;
  readonly atEnd: Float32Array;
}

/** Rows of windows that reach half a window, `h` rows, to each side, in a step of T rows. */
export type WindowRows = {
  /**
   * ahead [T]: for each place the row whose query stands there: h rows earlier. back [T]: the place of each row's query.
   * inside [T]: 1 if the text has h more rows behind the row, else 0. atEnd [T]: 1 − inside.
   */
  readonly [Name in keyof WindowArrays]: Tensor;
};

/** A ragged batch of S whole texts, T rows, without padding, as tensors of a step. */
export interface EncoderBatch {
  /** [T] position of each row in its text, plus `firstPosition`. */
  readonly positions: Tensor;
  /** [T] part of a pair that each row belongs to: 0 or 1. */
  readonly segments: Tensor;
  /** [S + 1] first row of each sequence, then T. */
  readonly cuSeqlens: Tensor;
  /** For windows to both sides; absent: all texts fit into half a window, or the model has none. */
  readonly window?: WindowRows;
}

/** An encoder's functions, built by an architecture from loaded weights. */
export interface Encoder {
  /** ids [T] → hidden states after the last layer [T, D]. */
  hidden(ids: Tensor, batch: EncoderBatch): Tensor;
  /** Hidden states of each text's first row (or pooled by `labelPooling`) [S, D] → logits [S, labels]; absent: no classifier. */
  classify?(x: Tensor): Tensor;
}

/** One encoder family: how to read its files, and its forward pass. */
export interface EncoderArchitecture {
  readonly kind: 'encoder';
  readonly name: string;
  /** What files call it: `general.architecture` in GGUF, an entry of `architectures` or `model_type` in config.json. */
  readonly names: Readonly<Record<Naming, readonly string[]>>;
  /**
   * For a name that several architectures share: whether a file is of this one. An architecture that accepts a file
   * comes before one without `accepts`. Absent: all files with its names.
   */
  accepts?(settings: Settings, naming: Naming): boolean;
  readonly weights: WeightTable<EncoderConfig>;
  /** `general.architecture` of its converted GGUF files; absent: conversion is not possible. */
  readonly gguf?: { readonly name: string };
  /** Renames a file's tensors to the table's names; splits fused tensors. */
  rename(file: WeightFile): WeightFile;
  /** `source.weights` are renamed. Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromGguf(source: GgufSource): EncoderConfig;
  /** `source.weights` are renamed. Throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
  configFromHuggingFace(source: HuggingFaceSource): EncoderConfig;
  /** The forward pass over loaded weights. */
  build(backend: Backend, weights: AnyLoadedWeights, config: EncoderConfig): Encoder;
}
