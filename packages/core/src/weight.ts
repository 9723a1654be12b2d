/** Formats every backend loads. */
export const denseFormats = ['f32', 'f16', 'bf16'] as const;
export type DenseFormat = (typeof denseFormats)[number];

/**
 * Storage format of a weight in its file: dense, or one of a capability (`quantGguf.formats`: 'q4_k', 'q8_0', …).
 * @quern/quant defines the layouts.
 */
export type WeightFormat = DenseFormat | (string & {});

/** A slice of a file, at any byte offset, unaligned. Numbers are little-endian. */
export interface FileSlice {
  readonly path: string;
  readonly offset: number;
  readonly byteLength: number;
  /**
   * false: the driver reads the slice into memory and does not need the file after loading. Otherwise the driver may
   * map the file and use the weight in place. A driver that always copies weights may ignore this flag.
   */
  readonly mmap?: boolean;
}

/** Location of a weight's bytes: a slice of a file, which a native backend maps itself, or memory, which it copies. */
export type WeightBytes = FileSlice | Uint8Array;

/** Consecutive rows of a weight that consists of several pieces. */
export interface WeightPart {
  /** `rows` rows of K elements (the last dimension of the weight), or of `columns.of` elements. */
  readonly bytes: WeightBytes;
  /** Rows of the weight: [A, B, K] has A · B, [N, K] has N, a vector [N] has N rows of one element. */
  readonly rows: number;
  /** Columns [from, from + K) of rows with `of` elements. In a block format all three numbers are whole blocks. */
  readonly columns?: { readonly from: number; readonly of: number };
}

/** A parameter in a model file, before loading. */
export interface WeightSource {
  /** The name in the file, for messages. */
  readonly name: string;
  /** Row-major, outermost first: [N, K] for a matrix that maps K features to N, [D] for a vector. Every dimension is 1 or more. */
  readonly shape: readonly number[];
  readonly format: WeightFormat;
  /** One piece, or parts with consecutive rows: fused projections, experts, a share of the columns. */
  readonly bytes: WeightBytes | readonly WeightPart[];
  /**
   * Ops that will read the weight, so that a driver can choose a layout. A hint: other ops also work, perhaps slower.
   */
  readonly uses?: readonly WeightUse[];
}

/**
 * Readers of a weight: rows by index (embed), products with few rows (row: decode), products with many (rows: prefill).
 */
export type WeightUse = 'embed' | 'row' | 'rows';

/**
 * A loaded parameter, in a layout chosen by its backend. It belongs to this backend. `dispose` frees it once no running
 * step uses it, and disposes the captured graphs that hold it.
 */
export interface Weight {
  readonly kind: 'weight';
  readonly name: string;
  readonly shape: readonly number[];
  readonly format: WeightFormat;
  /** Bytes on the device. */
  readonly byteLength: number;
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}
