import type { SafetensorsDtype } from './dtypes.js';

/** A tensor of a safetensors model, with the place of its bytes. */
export interface SafetensorsTensor {
  readonly name: string;
  /** Row-major, outermost first; [] is a scalar. */
  readonly shape: readonly number[];
  readonly dtype: SafetensorsDtype;
  /** The file with the bytes; for a sharded model, the shard. */
  readonly path: string;
  /** Byte offset in that file, without any alignment. */
  readonly offset: number;
  readonly byteLength: number;
}

/** The header of a safetensors model, without the tensors' bytes. */
export interface SafetensorsFile {
  /** `__metadata__` of the file, or of the first shard. */
  readonly metadata: ReadonlyMap<string, string>;
  /** In byte order; for a sharded model, shard after shard. */
  readonly tensors: readonly SafetensorsTensor[];
  /** The files of the model: one, or its shards. */
  readonly paths: readonly string[];
}
