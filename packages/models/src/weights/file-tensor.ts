import type { FileSlice, WeightSource } from '@quern/core';

/** A tensor in a file: a WeightSource with unread bytes. */
export interface FileTensor extends WeightSource {
  readonly bytes: FileSlice;
  /** Other tensors and settings that determine its values. */
  readonly quantised?: Quantised;
  /** The bytes are of a matrix [K, of]: the tensor [N, K] is its columns `from`, `from + 1`, …, each a row. */
  readonly transposed?: { readonly from: number; readonly of: number };
  /** Added to every value. */
  readonly plus?: number;
  /** The file has ln(−value) of every value. */
  readonly isLog?: true;
  /** Value i: no file has the tensor, and the bytes are empty. */
  readonly constant?: (i: number) => number;
}

/** Quantised integers with a zero point and a scale per group of columns. The tensor's bytes are the integers. */
export interface GroupedIntegers {
  /** AWQ packs along N, GPTQ along K. */
  readonly kind: 'gptq' | 'awq';
  readonly bits: 4 | 8;
  readonly groupSize: number;
  readonly version: 1 | 2;
  readonly qzeros: FileTensor;
  readonly scales: FileTensor;
  /** The group of each column, if columns are reordered (act-order). */
  readonly groupIndex?: FileTensor;
  /** Where the tensor is rows of a matrix [of, K]: the bytes are of the whole matrix, since neighbours in a word are of several rows. */
  readonly rows?: { readonly from: number; readonly of: number };
}

/** 8-bit floats with a factor per block of rows and columns. */
export interface ScaledFloats {
  readonly kind: 'f8';
  readonly scale?: FileTensor;
  readonly blockRows: number;
  readonly blockColumns: number;
  /** Where the tensor is rows of a matrix, whose scales these are: the first of them. */
  readonly firstRow?: number;
}

/** Other data that determines a tensor's values, besides its bytes. */
export type Quantised = GroupedIntegers | ScaledFloats;
