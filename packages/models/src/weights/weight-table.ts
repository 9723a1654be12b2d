import type { Weight, WeightUse } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Naming } from './weight-file.js';

/** The rows of a parameter in a fused tensor of `of` rows. */
export type FusedRows = { readonly of: number } & (
  | { readonly from: number }
  | { readonly ranges: readonly RowRange[] }
);

/** Consecutive rows of a tensor: the first, and how many. */
export type RowRange = readonly [from: number, count: number];

/**
 * One parameter: its name in each kind of file (`{i}`: layer) and its shape. A name with `{e}` stands for E separate
 * tensors, the matrices of a stack [E, N, K].
 */
export interface WeightEntry<Config = DecoderConfig> extends Readonly<Record<Naming, string>> {
  /** Row-major, outermost first: [N, K] maps K features to N. */
  shape(config: Config): readonly number[];
  /** Name with `{e}` in older GGUF files, which hold a stack as separate matrices. */
  readonly ggufApart?: string;
  /**
   * For fused tensors [of, K]: the parameter has rows `from`, `from + 1`, …, or those of `ranges`; their number is
   * `shape[0]`.
   */
  rows?(config: Config): FusedRows;
  /**
   * For fused tensors: the rows of Hugging Face's tensor in the order of GGUF's, as ranges. Absent: both have one order.
   */
  huggingFaceRows?(config: Config): readonly RowRange[];
  /** Hugging Face files hold the transpose [K, N] (GPT-2's Conv1D). */
  readonly huggingFaceTransposed?: true;
  /** A tensor of some GGUF files that holds it beside others, read where `gguf` is absent; and its rows there. */
  readonly ggufFused?: {
    readonly name: string;
    rows(config: Config): { readonly from: number; readonly of: number };
  };
  /** Added to every value of Hugging Face files; GGUF files hold the sum (norms multiply by 1 + w). */
  readonly huggingFacePlus?: number;
  /** Hugging Face files hold ln(−value) of every value (A_log of Mamba and delta rules); GGUF files the values. */
  readonly huggingFaceIsLog?: true;
  /**
   * Element i, which no file has: the bias of a LayerNorm without one is 0 (Cohere).
   */
  constant?(config: Config, i: number): number;
  /** The file may lack it. */
  readonly optional?: true;
  /** The parameter exists only if this returns true. */
  when?(config: Config, layer: number): boolean;
  /**
   * Parameters of the whole decoder: the functions that read it. On several backends, only the parts with these functions
   * load it: all parts have layers.
   */
  readBy?(config: Config): readonly DecoderFunction[];
  /** Ops that read it. Absent: matrices: products with one and with many rows; vectors: none. */
  uses?(config: Config): readonly WeightUse[];
  /** Share that one token reads; stacks of experts: k / E. Absent: all. */
  used?(config: Config): number;
}

/** The functions of a decoder. */
export type DecoderFunction = 'embed' | 'layer' | 'logits';

type Entries<Config> = Readonly<Record<string, WeightEntry<Config>>>;

/** The parameters of an architecture: of the whole model, and of every layer. */
export interface WeightTable<Config = DecoderConfig> {
  readonly model: Entries<Config>;
  readonly layer: Entries<Config>;
}

type Loaded<E> = E extends { readonly optional: true } | { when: unknown } ? Weight | undefined : Weight;
type Fields<T> = { readonly [Field in keyof T]: Loaded<T[Field]> };

/** The parameters of a decoder: each of the whole model says which functions read it. */
export interface DecoderWeightTable extends WeightTable {
  readonly model: Readonly<Record<string, WeightEntry & Required<Pick<WeightEntry, 'readBy'>>>>;
}

/** A table's loaded weights: a Weight per field, and per field of each layer. */
export type LoadedWeights<T extends WeightTable<never>> = Fields<T['model']> & {
  readonly layers: readonly Fields<T['layer']>[];
};
