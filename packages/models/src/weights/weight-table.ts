import type { Weight, WeightUse } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Naming } from './weight-file.js';

/**
 * One parameter: what each kind of file calls it (`{i}` is the layer) and the shape that the configuration implies. A name
 * with `{e}` stands for the matrices of a stack [E, N, K] that lie apart, one tensor for each e.
 */
export interface WeightEntry<Config = DecoderConfig> extends Readonly<Record<Naming, string>> {
  /** Row-major, outermost first: [N, K] for a matrix that maps K features to N. */
  shape(config: Config): readonly number[];
  /** What GGUF files of before stacks call each matrix of one, with `{e}`. */
  readonly ggufApart?: string;
  /** Where several parameters lie in one tensor [of, K]: it has the rows from `from` on. */
  rows?(config: Config): { readonly from: number; readonly of: number };
  /** Added to every value of Hugging Face files; GGUF files hold the sum (norms that multiply by 1 + w). */
  readonly huggingFacePlus?: number;
  /** Taken where the file has it. */
  readonly optional?: true;
  /** Needed only where this holds, and else not taken. */
  when?(config: Config, layer: number): boolean;
  /** Of a parameter of the whole decoder: the functions that read it. Of a model on several backends, their backends alone load it. */
  readBy?(config: Config): readonly ('embed' | 'logits')[];
  /** The ops that read it. Absent: of a matrix products with few rows and with many, of a vector none of them. */
  uses?(config: Config): readonly WeightUse[];
  /** The part of it that one token reads: of experts, those chosen. Absent: all. */
  used?(config: Config): number;
}

type Entries<Config> = Readonly<Record<string, WeightEntry<Config>>>;

/** The parameters of an architecture, field by field: those of the whole model, and those that every layer has. */
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

/** What a table becomes once loaded: a Weight per field, and per field of each layer. */
export type LoadedWeights<T extends WeightTable<never>> = Fields<T['model']> & {
  readonly layers: readonly Fields<T['layer']>[];
};
