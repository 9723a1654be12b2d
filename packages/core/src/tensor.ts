import type { DType } from './dtype.js';

/**
 * A value inside one step: an opaque handle. Its data lives in the backend, and only while the step runs, unless the
 * step keeps it (see Step.read).
 */
export interface Tensor {
  readonly kind: 'tensor';
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/**
 * Plain device memory that outlives a step, zeroed at first. Caches use `KvBuffer` instead. `dispose` frees the buffer
 * once no running step uses it, and disposes the captured graphs that hold it.
 */
export interface DeviceBuffer {
  readonly kind: 'buffer';
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly byteLength: number;
  readonly disposed: boolean;
  /** Writes bytes at a byte offset. Throws BAD_ARGUMENT outside the buffer. */
  write(bytes: Uint8Array, byteOffset?: number): Promise<void>;
  /** Reads the whole buffer, or `byteLength` bytes from `byteOffset`. */
  read(byteOffset?: number, byteLength?: number): Promise<Uint8Array>;
  dispose(): void;
  [Symbol.dispose](): void;
}
