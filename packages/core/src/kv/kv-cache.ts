import type { KvQuant, QuantKvDtype } from '../capability/kv-quant.js';
import { type DType, dtypeBytes } from '../dtype.js';
import { BackendError } from '../error.js';
import { checkArgument, type Refuse, rules } from '../options/index.js';
import { type BatchArrays, type BatchEntry, describeBatch } from './batch.js';
import { BlockPool } from './block-pool.js';
import { cacheRow } from './cache-row.js';
import type { KvBuffer, KvSpec } from './kv-buffer.js';
import { KvSequence } from './kv-sequence.js';

/**
 * Element types of caches. Every backend has f32 and f16; `kvQuant` lists the others it has. 'int8': whole numbers with
 * one f32 scale per token and kv head, max|x| / 127. 'fp8': E4M3 without infinities, the elements of `--kv-cache-dtype
 * fp8` of vLLM and of FlashInfer, also as bytes (u8). There one scale serves a tensor and comes with the model, or is 1;
 * here each token and kv head has its own, max|x| / 448: nothing overflows, and no model needs calibrating.
 */
export type KvDtype = 'f32' | 'f16' | QuantKvDtype;

/** Element type of the buffers of a cache. */
export const kvElements = {
  f32: 'f32',
  f16: 'f16',
  bf16: 'bf16',
  int8: 'i8',
  fp8: 'u8',
} as const satisfies Record<KvDtype, DType>;

/** Throws UNSUPPORTED if the backend has no caches of this type. */
export function needKvDtype(backend: KvBackend, dtype: KvDtype): void {
  if (dtype === 'f32' || dtype === 'f16' || backend.kvQuant?.dtypes.has(dtype)) return;
  const kept = ['f32', 'f16', ...(backend.kvQuant?.dtypes ?? [])].join(', ');
  throw new BackendError('UNSUPPORTED', `backend '${backend.name}' has no ${dtype} cache; it has ${kept}`);
}

export interface KvCacheOptions {
  readonly layers: number;
  /** Hk. */
  readonly kvHeads: number;
  /** d. */
  readonly headDim: number;
  readonly dtype: KvDtype;
  /** Maximum tokens per sequence. */
  readonly context: number;
}

/** Keys and values of one layer. */
export interface KvLayer {
  readonly k: KvBuffer;
  readonly v: KvBuffer;
}

/** The parts of a backend that a cache uses. */
export interface KvBackend {
  readonly name: string;
  readonly kvQuant?: KvQuant;
  kvBuffer(spec: KvSpec): KvBuffer;
}

/** One backend for all layers of a cache, or one per layer. Blocks and sequences are the same on all backends. */
export type KvBackends = KvBackend | readonly KvBackend[];

const areMany = (backends: KvBackends): backends is readonly KvBackend[] => Array.isArray(backends);

function backendOfLayer(
  backends: KvBackends,
  { layers, dtype }: KvCacheOptions,
): (layer: number) => KvBackend {
  if (areMany(backends) && backends.length !== layers)
    throw new BackendError(
      'BAD_ARGUMENT',
      `a cache of ${layers} layers needs one backend for all, or ${layers}; got ${backends.length}`,
    );
  const all = areMany(backends) ? backends : [backends];
  for (const backend of new Set(all)) needKvDtype(backend, dtype);
  return (layer) => all[areMany(backends) ? layer : 0]!;
}

const badArgument: Refuse = (message) => new BackendError('BAD_ARGUMENT', message);

const size = rules.whole(0);
const dtypeRule = rules.oneOf(Object.keys(kvElements) as KvDtype[]);

function needSizes(options: Omit<KvCacheOptions, 'context'>, tokens: number): void {
  checkArgument('kvCacheBytes', 'options', options, rules.object, badArgument);
  const { layers, kvHeads, headDim, dtype } = options;
  for (const [name, value] of Object.entries({ layers, kvHeads, headDim, tokens }))
    checkArgument('kvCacheBytes', name, value, size, badArgument);
  checkArgument('kvCacheBytes', 'dtype', dtype, dtypeRule, badArgument);
}

/** Bytes of a cache of `tokens` slots, keys and values of all layers. @throws BackendError BAD_ARGUMENT */
export function kvCacheBytes(options: Omit<KvCacheOptions, 'context'>, tokens: number): number {
  needSizes(options, tokens);
  const { layers, kvHeads, headDim } = options;
  const dtype = kvElements[options.dtype];
  return 2 * layers * tokens * kvHeads * cacheRow(dtype, headDim) * dtypeBytes[dtype];
}

/**
 * A KvLayer per layer, and the blocks that all layers share. A contiguous cache has one block per sequence, as long as
 * the context. A paged cache has many small blocks. Models see no difference.
 */
export class KvCache {
  private readonly pool: BlockPool;
  private readonly kvLayers: readonly KvLayer[];
  /** Maximum blocks per sequence: the width of block tables. */
  readonly maxBlocks: number;

  private constructor(
    readonly options: KvCacheOptions,
    readonly blocks: number,
    readonly blockSize: number,
    kvLayers: readonly KvLayer[],
  ) {
    this.pool = new BlockPool(blocks);
    this.kvLayers = kvLayers;
    this.maxBlocks = Math.ceil(options.context / blockSize);
  }

  /**
   * Allocates all layers, or none.
   * @param backends one for all layers, or one per layer
   * @throws BackendError OUT_OF_MEMORY, UNSUPPORTED, BAD_ARGUMENT
   */
  static allocate(backends: KvBackends, options: KvCacheOptions, blocks: number, blockSize: number): KvCache {
    needPositive({ ...options, blocks, blockSize });
    const backendOf = backendOfLayer(backends, options);
    const { kvHeads: heads, headDim } = options;
    const spec: KvSpec = { blocks, blockSize, heads, headDim, dtype: kvElements[options.dtype] };
    const buffers: KvBuffer[] = [];
    try {
      for (let i = 0; i < 2 * options.layers; i++) buffers.push(backendOf(i >> 1).kvBuffer(spec));
    } catch (error) {
      for (const buffer of buffers) buffer.dispose();
      throw error;
    }
    const layers = Array.from({ length: options.layers }, (_, i) => ({
      k: buffers[2 * i]!,
      v: buffers[2 * i + 1]!,
    }));
    return new KvCache(options, blocks, blockSize, layers);
  }

  layer(index: number): KvLayer {
    const layer = this.kvLayers[index];
    if (!layer)
      throw new BackendError(
        'BAD_ARGUMENT',
        `the cache has ${this.kvLayers.length} layers; there is no layer ${index}`,
      );
    return layer;
  }

  /**
   * A new sequence, which takes blocks as it grows. It begins with the tokens of `prefix`: whole blocks in use, which
   * it then shares.
   * @throws BackendError BAD_ARGUMENT for a block that is not in use, or more blocks than a sequence holds
   */
  sequence(prefix: readonly number[] = []): KvSequence {
    return new KvSequence(this.pool, this.blockSize, this.maxBlocks, prefix);
  }

  /** Keeps a block in use without a sequence, until `drop`. @throws BackendError BAD_ARGUMENT: the block is not in use */
  hold(block: number): void {
    this.pool.share(block);
  }

  /** Ends a `hold`. The last holder frees the block. @throws BackendError BAD_ARGUMENT: the block is not in use */
  drop(block: number): void {
    this.pool.release(block);
  }

  get freeBlocks(): number {
    return this.pool.freeBlocks;
  }

  get byteLength(): number {
    return kvCacheBytes(this.options, this.blocks * this.blockSize);
  }

  /** Bytes of one block in canonical form: for each layer its keys, then its values. */
  get blockBytes(): number {
    return kvCacheBytes(this.options, this.blockSize);
  }

  /**
   * Copies blocks out, [blocks, blockBytes]: to disk, to host memory, or to another cache with the same layers, heads
   * and tokens per block. The bytes do not depend on the backend's layout. Rejects with BAD_ARGUMENT for a block
   * outside the cache.
   */
  async readBlocks(blocks: readonly number[]): Promise<Uint8Array> {
    const bytes = new Uint8Array(blocks.length * this.blockBytes);
    let at = 0;
    for (const block of blocks)
      for (const buffer of this.buffers) {
        const part = await buffer.readBlocks(block);
        bytes.set(part, at);
        at += part.length;
      }
    return bytes;
  }

  /**
   * Copies blocks in, as read by `readBlocks`. Rejects with BAD_ARGUMENT for a wrong length or a block outside the
   * cache.
   */
  async writeBlocks(blocks: readonly number[], bytes: Uint8Array): Promise<void> {
    if (bytes.length !== blocks.length * this.blockBytes)
      throw new BackendError(
        'BAD_ARGUMENT',
        `[writeBlocks] ${blocks.length} blocks take ${blocks.length * this.blockBytes} bytes; got ${bytes.length}`,
      );
    let at = 0;
    for (const block of blocks)
      for (const buffer of this.buffers) {
        const end = at + buffer.byteLength / this.blocks;
        await buffer.writeBlocks(block, bytes.subarray(at, end));
        at = end;
      }
  }

  /**
   * The batch arrays of a step, after its tokens have been appended to their sequences. Block tables are as wide as the
   * context.
   */
  describe(entries: readonly BatchEntry[]): BatchArrays {
    return describeBatch(entries, this.maxBlocks);
  }

  dispose(): void {
    for (const buffer of this.buffers) buffer.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private get buffers(): readonly KvBuffer[] {
    return this.kvLayers.flatMap(({ k, v }) => [k, v]);
  }
}

function needPositive(values: object): void {
  for (const [name, value] of Object.entries(values))
    if (name !== 'dtype' && !(Number.isInteger(value) && value > 0))
      throw new BackendError(
        'BAD_ARGUMENT',
        `a cache needs ${name} to be a whole number above 0; got ${value}`,
      );
}

/** A cache with one stripe per sequence, as long as the context. Works on any backend. */
export function contiguousKvCache(
  backends: KvBackends,
  options: KvCacheOptions & { readonly sequences: number },
): KvCache {
  return KvCache.allocate(backends, options, options.sequences, options.context);
}
