import type { FileSlice, WeightSource } from '@quern/core';

/** A tensor in a file: a WeightSource whose bytes no one has read yet. */
export interface FileTensor extends WeightSource {
  readonly bytes: FileSlice;
  /** What else its values depend on, where the format alone does not tell. */
  readonly quantised?: Quantised;
  /** Added to every value. */
  readonly plus?: number;
}

/** Integers, and a zero point and a scale for every group of columns. The tensor's own bytes are the integers. */
export interface GroupedIntegers {
  /** AWQ packs along N, GPTQ along K. */
  readonly kind: 'gptq' | 'awq';
  readonly bits: 4 | 8;
  readonly groupSize: number;
  readonly version: 1 | 2;
  readonly qzeros: FileTensor;
  readonly scales: FileTensor;
  /** The group of each column, where they are not in order. */
  readonly groupIndex?: FileTensor;
  /** Where the tensor is rows of a matrix [of, K]: the bytes are of the whole matrix, since neighbours in a word are of several rows. */
  readonly rows?: { readonly from: number; readonly of: number };
}

/** 8-bit floats, and a factor for every block of rows and columns. */
export interface ScaledFloats {
  readonly kind: 'f8';
  readonly scale?: FileTensor;
  readonly blockRows: number;
  readonly blockColumns: number;
  /** Where the tensor is rows of a matrix, whose scales these are: the first of them. */
  readonly firstRow?: number;
}

/** What the values of a tensor depend on beside its bytes. */
export type Quantised = GroupedIntegers | ScaledFloats;
