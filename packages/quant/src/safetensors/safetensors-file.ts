import type { SafetensorsDtype } from './dtypes.js';

/** A tensor of a safetensors model, and where its bytes are. */
export interface SafetensorsTensor {
  readonly name: string;
  /** Row-major, outermost first; [] is a scalar. */
  readonly shape: readonly number[];
  readonly dtype: SafetensorsDtype;
  /** The file that holds the bytes: for a sharded model, the shard. */
  readonly path: string;
  /** From the start of that file, in bytes; a multiple of nothing in particular. */
  readonly offset: number;
  readonly byteLength: number;
}

/** The header of a safetensors model: everything but the tensors' bytes. */
export interface SafetensorsFile {
  /** `__metadata__` of the file, or of the first shard. */
  readonly metadata: ReadonlyMap<string, string>;
  /** In the order of their bytes; of a sharded model, shard after shard. */
  readonly tensors: readonly SafetensorsTensor[];
  /** The files of the model: one, or its shards. */
  readonly paths: readonly string[];
}
