import type { DType } from './dtype.js';

/**
 * A value inside one step: an opaque handle. Its data lives in the backend and exists only while the step runs,
 * unless the step keeps it (see Step.read).
 */
export interface Tensor {
  readonly kind: 'tensor';
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/**
 * Plain device memory that outlives a step. It starts zeroed. Caches are made of `KvBuffer`s instead.
 * `dispose` frees it once no running step uses it, and ends the captured graphs that hold it.
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
