/** Storage of a format: blocks of `blockSize` elements, `blockBytes` bytes each (ggml-common.h), little-endian. */
export interface BlockLayout {
  /** The `ggml_type` number in GGUF files. */
  readonly typeId: number;
  /** Elements per block: a power of two, at most 256. A row (innermost dimension) holds whole blocks. */
  readonly blockSize: number;
  readonly blockBytes: number;
}

/**
 * Float definition of a read-only format. Offsets count bytes in `Uint8Array`s and elements in `Float32Array`s. `count`
 * elements are whole blocks. Bounds are not checked: see decode.ts for the checked entry points.
 */
export interface Decoder {
  readonly layout: BlockLayout;
  /** Blocks to floats, bit for bit as ggml's dequantize_row and gguf-py. */
  decode(src: Uint8Array, srcOffset: number, dst: Float32Array, dstOffset: number, count: number): void;
}

/** Float definition of a format, decoding and encoding. */
export interface Codec extends Decoder {
  /** Floats to blocks by ggml's reference quantiser, without an importance matrix. */
  encode(src: Float32Array, srcOffset: number, dst: Uint8Array, dstOffset: number, count: number): void;
  /**
   * Encodes one row of `importance.length` elements, whole blocks. `importance` [row length]: weight of each column in
   * the error. Absent if the format leaves no choice.
   */
  encodeWeighted?(
    src: Float32Array,
    srcOffset: number,
    dst: Uint8Array,
    dstOffset: number,
    importance: Float32Array,
  ): void;
}
