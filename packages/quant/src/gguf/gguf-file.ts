import type { GgufFormat } from '../format/formats.js';
import type { MetadataType, MetadataValue } from './metadata.js';

/** A tensor of a model file, with the place of its bytes. */
export interface TensorInfo {
  readonly name: string;
  /** Row-major, outermost first: ggml's dimensions reversed. [] is a scalar. */
  readonly shape: readonly number[];
  readonly format: GgufFormat;
  /** The file with the bytes; for a split model, the part. */
  readonly path: string;
  /** Byte offset in that file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** The header of a GGUF model, without the tensors' bytes. */
export interface GgufFile {
  /** 2 or 3. The only difference: 3 may be big-endian, which Quern does not read. */
  readonly version: number;
  /** For a split model, the metadata of the first part. */
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  /** Type of each metadata value in the file. `array` for arrays; the value shows the element type. */
  readonly metadataTypes: ReadonlyMap<string, MetadataType>;
  /** In file order; for a split model, part after part. */
  readonly tensors: readonly TensorInfo[];
  /** Tensor offsets are multiples of this many bytes. */
  readonly alignment: number;
  /** Byte offset of the tensor data in the (first) file. */
  readonly tensorDataOffset: number;
  /** The files of the model: one, or the parts of a split model in order. */
  readonly paths: readonly string[];
}
