/** Formats every backend loads. */
export const denseFormats = ['f32', 'f16', 'bf16'] as const;
export type DenseFormat = (typeof denseFormats)[number];

/**
 * A weight's storage format in its file: dense, or one that a capability adds
 * (`quantGguf.formats`: 'q4_k', 'q8_0', …). The layouts are defined in @quern/quant.
 */
export type WeightFormat = DenseFormat | (string & {});

/** A slice of a file, from any byte on: nothing is aligned. Numbers are little-endian. */
export interface FileSlice {
  readonly path: string;
  readonly offset: number;
  readonly byteLength: number;
  /**
   * False: the driver reads the slice into memory, and needs the file no more once the weight has loaded. Otherwise it may map
   * the file and use the weight where it lies. A driver that copies weights anyway need not look at it.
   */
  readonly mmap?: boolean;
}

/** Where a weight's bytes are: a slice of a file, which a native backend maps itself, or memory, which it copies. */
export type WeightBytes = FileSlice | Uint8Array;

/** Some rows of a weight that lies in several pieces. */
export interface WeightPart {
  /** `rows` rows, each of K elements (the last dimension of the weight), or of `columns.of`. */
  readonly bytes: WeightBytes;
  /** Rows of the weight: [A, B, K] has A · B, [N, K] has N, a vector [N] has N rows of one element. */
  readonly rows: number;
  /** Columns [from, from + K) of rows of `of` elements; in a block format all three are whole blocks. */
  readonly columns?: { readonly from: number; readonly of: number };
}

/** A parameter as a model file describes it, before any backend has loaded it. */
export interface WeightSource {
  /** The name in the file, for messages. */
  readonly name: string;
  /** Row-major, outermost first: [N, K] for a matrix that maps K features to N, [D] for a vector. Every dimension is 1 or more. */
  readonly shape: readonly number[];
  readonly format: WeightFormat;
  /** One piece, or parts whose rows follow one another: projections side by side, experts, a share of the columns. */
  readonly bytes: WeightBytes | readonly WeightPart[];
  /** The ops that will read it, so that a driver can choose a layout. A hint: it is right in other ops too, perhaps slower. */
  readonly uses?: readonly WeightUse[];
}

/** What reads a weight: rows of it by index, products with few rows (decoding), products with many (prompts). */
export type WeightUse = 'embed' | 'row' | 'rows';

/**
 * A loaded parameter, in whatever layout its backend chose. It belongs to the backend that loaded it;
 * `dispose` frees it once no running step uses it, and ends the captured graphs that hold it.
 */
export interface Weight {
  readonly kind: 'weight';
  readonly name: string;
  readonly shape: readonly number[];
  readonly format: WeightFormat;
  /** Bytes it takes on the device. */
  readonly byteLength: number;
  readonly disposed: boolean;
  dispose(): void;
  [Symbol.dispose](): void;
}
