import type { DriverBuffer, DriverMemory } from '../driver-memory.js';
import { type DType, dtypeBytes } from '../dtype.js';
import { cacheRow } from './cache-row.js';

/** Keys or values of one layer of a cache. */
export interface KvSpec {
  readonly blocks: number;
  /** Tokens per block. */
  readonly blockSize: number;
  /** Hk. */
  readonly heads: number;
  /** d. */
  readonly headDim: number;
  /** f32, f16, bf16, i8 or u8 (E4M3). */
  readonly dtype: DType;
}

/**
 * Keys or values of one layer on a device, in the driver's own layout. Host code copies whole blocks in and out in
 * canonical form: [blockSize, Hk, d] per block; i8, u8: [blockSize, Hk, d + 4], see `cacheRow`.
 */
export interface KvBuffer {
  readonly kind: 'buffer';
  /** [blocks, blockSize, Hk, d or d + 4]. */
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Bytes of all blocks in canonical form. */
  readonly byteLength: number;
  readonly disposed: boolean;
  /** Blocks [first, first + count) in canonical form. Rejects with BAD_ARGUMENT outside the buffer. */
  readBlocks(first: number, count?: number): Promise<Uint8Array>;
  /** Replaces whole blocks from `first` on. Rejects with BAD_ARGUMENT outside the buffer or for a part of a block. */
  writeBlocks(first: number, bytes: Uint8Array): Promise<void>;
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Cache memory in a layout of the driver's own. Blocks enter and leave in canonical form, see `KvBuffer`. */
export interface DriverKv<B extends DriverBuffer = DriverBuffer> {
  /** A zeroed buffer. Its id is unique among the buffers of `memory`; `memory.free` frees it. Throws OUT_OF_MEMORY. */
  allocate(spec: KvSpec): B;
  /** Fills `bytes` with `count` blocks from `first` on. */
  read(buffer: B, first: number, count: number, bytes: Uint8Array): Promise<void>;
  /** Replaces `count` blocks from `first` on. */
  write(buffer: B, first: number, count: number, bytes: Uint8Array): Promise<void>;
}

/** The canonical shape. */
export const kvShape = ({ blocks, blockSize, heads, headDim, dtype }: KvSpec): readonly number[] => [
  blocks,
  blockSize,
  heads,
  cacheRow(dtype, headDim),
];

/** Bytes of one block in canonical form. */
export const kvBlockBytes = ({ blockSize, heads, headDim, dtype }: KvSpec): number =>
  blockSize * heads * cacheRow(dtype, headDim) * dtypeBytes[dtype];

/** Caches in canonical form in plain memory. */
const plainKv = (memory: DriverMemory): DriverKv => ({
  allocate: (spec) => memory.allocate(spec.blocks * kvBlockBytes(spec)),
  read: (buffer, first, count, bytes) => memory.read(buffer, (first * bytes.length) / count, bytes),
  write: (buffer, first, count, bytes) => memory.write(buffer, (first * bytes.length) / count, bytes),
});

/** The driver's own layout, or the canonical one. */
export const kvOf = ({ kv, memory }: { readonly kv?: DriverKv; readonly memory: DriverMemory }): DriverKv =>
  kv ?? plainKv(memory);
