/** How a format stores rows: blocks of `blockSize` elements, each `blockBytes` bytes (ggml-common.h). All are little-endian. */
export interface BlockLayout {
  /** The `ggml_type` number that GGUF files store. */
  readonly typeId: number;
  /** Elements per block: a power of two, at most 256. A row (innermost dimension) holds whole blocks. */
  readonly blockSize: number;
  readonly blockBytes: number;
}

/**
 * The float definition of a format that is only read. Offsets count bytes in `Uint8Array`s and elements in `Float32Array`s; `count`
 * is a number of elements, a whole number of blocks. Callers have checked the bounds: see decode.ts for the checked entry points.
 */
export interface Decoder {
  readonly layout: BlockLayout;
  /** Blocks to floats, bit for bit what ggml's dequantize_row and gguf-py give. */
  decode(src: Uint8Array, srcOffset: number, dst: Float32Array, dstOffset: number, count: number): void;
}

/** The float definition of a format, both ways. */
export interface Codec extends Decoder {
  /** Floats to blocks by ggml's reference quantiser, without an importance matrix. */
  encode(src: Float32Array, srcOffset: number, dst: Uint8Array, dstOffset: number, count: number): void;
  /**
   * One row of floats to blocks where `importance` [row length] says how much each column matters; absent where the format
   * leaves no choice. A row is `importance.length` elements, whole blocks.
   */
  encodeWeighted?(
    src: Float32Array,
    srcOffset: number,
    dst: Uint8Array,
    dstOffset: number,
    importance: Float32Array,
  ): void;
}
