import type { GgufFormat } from '../format/formats.js';
import type { MetadataType, MetadataValue } from './metadata.js';

/** A tensor of a model file, and where its bytes are. */
export interface TensorInfo {
  readonly name: string;
  /** Row-major, outermost first: ggml's dimensions reversed. [] is a scalar. */
  readonly shape: readonly number[];
  readonly format: GgufFormat;
  /** The file that holds the bytes: for a split model, the part. */
  readonly path: string;
  /** From the start of that file, in bytes. */
  readonly offset: number;
  readonly byteLength: number;
}

/** The header of a GGUF model: everything but the tensors' bytes. */
export interface GgufFile {
  /** 2 or 3; they differ only in that 3 may be big-endian, which Quern does not read. */
  readonly version: number;
  /** For a split model, the metadata of the first part. */
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  /** The type each metadata value has in the file; `array` for arrays, whose element type shows in the value. */
  readonly metadataTypes: ReadonlyMap<string, MetadataType>;
  /** In the order of the file; for a split model, part after part. */
  readonly tensors: readonly TensorInfo[];
  /** Tensor offsets are multiples of this many bytes. */
  readonly alignment: number;
  /** Where tensor data begins in the (first) file, in bytes. */
  readonly tensorDataOffset: number;
  /** The files of the model: one, or the parts of a split model in order. */
  readonly paths: readonly string[];
}
