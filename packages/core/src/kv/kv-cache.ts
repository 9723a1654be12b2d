import type { KvQuant, QuantKvDtype } from '../capability/kv-quant.js';
import { type DType, dtypeBytes } from '../dtype.js';
import { BackendError } from '../error.js';
import { checkArgument, type Refuse, rules } from '../options/index.js';
import { type BatchArrays, type BatchEntry, describeBatch } from './batch.js';
import { BlockPool } from './block-pool.js';
import { cacheRow } from './cache-row.js';
import type { KvBuffer, KvSpec } from './kv-buffer.js';
import { KvSequence } from './kv-sequence.js';
import { hasStates, type LayerStates, layerStateOf, needLayerStates, stateBytes } from './layer-state.js';
import { SequenceStates } from './sequence-states.js';

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

export interface KvCacheOptions extends LayerStates {
  readonly dtype: KvDtype;
  /** Maximum tokens per sequence. */
  readonly context: number;
  /** Number of states of fixed size per layer, for layers that keep such: of sequences, and of prefixes. */
  readonly states?: number | undefined;
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

/** Bytes of a cache of `tokens` slots, keys and values of all layers that keep such. @throws BackendError BAD_ARGUMENT */
export function kvCacheBytes(options: Omit<KvCacheOptions, 'context'>, tokens: number): number {
  needSizes(options, tokens);
  const dtype = kvElements[options.dtype];
  let rows = 0;
  for (let i = 0; i < options.layers; i++) {
    const state = layerStateOf(options, i);
    if (state.kind === 'kv') rows += state.heads * cacheRow(dtype, state.headDim);
  }
  return 2 * tokens * rows * dtypeBytes[dtype];
}

/** The buffers of one layer: keys and values, or the parts of its states [states, 1, heads, width]. */
type LayerBuffers = Readonly<Record<string, KvBuffer>>;

/**
 * A KvLayer per layer, and the blocks that all layers share. A contiguous cache has one block per sequence, as long as
 * the context. A paged cache has many small blocks. Models see no difference.
 */
export class KvCache {
  private readonly pool: BlockPool;
  /** Of caches with states. */
  private readonly statePool: BlockPool | undefined;
  /** Maximum blocks per sequence: the width of block tables. */
  readonly maxBlocks: number;

  private constructor(
    readonly options: KvCacheOptions,
    readonly blocks: number,
    readonly blockSize: number,
    private readonly layerBuffers: readonly LayerBuffers[],
  ) {
    this.pool = new BlockPool(blocks);
    if (hasStates(options)) this.statePool = new BlockPool(options.states!, 'states');
    this.maxBlocks = Math.ceil(options.context / blockSize);
  }

  /**
   * Allocates all layers, or none.
   * @param backends one for all layers, or one per layer
   * @throws BackendError OUT_OF_MEMORY, UNSUPPORTED, BAD_ARGUMENT
   */
  static allocate(backends: KvBackends, options: KvCacheOptions, blocks: number, blockSize: number): KvCache {
    const { layerStates, states, ...sizes } = options;
    needPositive({ ...sizes, blocks, blockSize, ...(hasStates(options) && { states }) });
    needLayerStates(options);
    const backendOf = backendOfLayer(backends, options);
    const buffers: KvBuffer[] = [];
    const allocated = (i: number, spec: KvSpec): KvBuffer => {
      const buffer = backendOf(i).kvBuffer(spec);
      buffers.push(buffer);
      return buffer;
    };
    try {
      const layers = Array.from({ length: options.layers }, (_, i) =>
        layerBuffers(options, i, { blocks, blockSize }, (spec) => allocated(i, spec)),
      );
      return new KvCache(options, blocks, blockSize, layers);
    } catch (error) {
      for (const buffer of buffers) buffer.dispose();
      throw error;
    }
  }

  /** Keys and values of a layer. @throws BackendError BAD_ARGUMENT: there is no such layer, or it keeps a state */
  layer(index: number): KvLayer {
    const { k, v } = this.buffersOf(index);
    if (k && v && layerStateOf(this.options, index).kind === 'kv') return { k, v };
    throw new BackendError(
      'BAD_ARGUMENT',
      `layer ${index} of the cache keeps no keys and values, but states`,
    );
  }

  /** A part of the states of a layer: [states, 1, heads, width]. @throws BackendError BAD_ARGUMENT: there is no such part */
  state(index: number, part: string): KvBuffer {
    const buffer =
      layerStateOf(this.options, index).kind === 'state' ? this.buffersOf(index)[part] : undefined;
    if (buffer) return buffer;
    throw new BackendError('BAD_ARGUMENT', `layer ${index} of the cache keeps no state '${part}'`);
  }

  private buffersOf(index: number): LayerBuffers {
    const layer = this.layerBuffers[index];
    if (layer) return layer;
    throw new BackendError(
      'BAD_ARGUMENT',
      `the cache has ${this.layerBuffers.length} layers; there is no layer ${index}`,
    );
  }

  /**
   * A new sequence, which takes blocks as it grows. It begins with the tokens of `prefix`: whole blocks in use, which
   * it then shares.
   * @param state of caches with states: the one after these tokens
   * @throws BackendError BAD_ARGUMENT for a block or state that is not in use, a prefix without its state, or more blocks
   * than a sequence holds
   */
  sequence(prefix: readonly number[] = [], state?: number): KvSequence {
    const at = prefix.length * this.blockSize;
    if (this.statePool && at > 0 !== (state !== undefined))
      throw new BackendError('BAD_ARGUMENT', 'a prefix in a cache with states needs the state after it');
    const states =
      this.statePool && new SequenceStates(this.statePool, state === undefined ? undefined : { at, state });
    return new KvSequence(this.pool, this.blockSize, this.maxBlocks, prefix, states);
  }

  /** Whether layers keep states of fixed size. */
  get hasStates(): boolean {
    return this.statePool !== undefined;
  }

  /** States of no sequence and no prefix. 0 for caches without states. */
  get freeStates(): number {
    return this.statePool?.freeBlocks ?? 0;
  }

  /** Number of sequences and `holdState`s that hold a state. */
  stateHolders(state: number): number {
    return this.statePool?.holdersOf(state) ?? 0;
  }

  /** Keeps a state in use without a sequence, until `dropState`: nothing writes it meanwhile. @throws BackendError BAD_ARGUMENT */
  holdState(state: number): void {
    this.statePool?.share(state);
  }

  /** Ends a `holdState`. @throws BackendError BAD_ARGUMENT: the state is not in use */
  dropState(state: number): void {
    this.statePool?.release(state);
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
    return (
      kvCacheBytes(this.options, this.blocks * this.blockSize) + (this.options.states ?? 0) * this.stateBytes
    );
  }

  /** Bytes of one state: the parts of all layers. */
  get stateBytes(): number {
    return stateBytes(this.options);
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
    return readAll(this.kvBuffers, blocks, this.blockBytes);
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
    await writeAll(this.kvBuffers, blocks, bytes);
  }

  /** Copies a state out, [stateBytes]: the parts of all layers, in order. Rejects with BAD_ARGUMENT outside the cache. */
  readState(state: number): Promise<Uint8Array> {
    return readAll(this.stateBuffers, [state], this.stateBytes);
  }

  /** Copies a state in, as read by `readState`. Rejects with BAD_ARGUMENT for a wrong length or a state outside the cache. */
  async writeState(state: number, bytes: Uint8Array): Promise<void> {
    if (bytes.length !== this.stateBytes)
      throw new BackendError(
        'BAD_ARGUMENT',
        `[writeState] a state takes ${this.stateBytes} bytes; got ${bytes.length}`,
      );
    await writeAll(this.stateBuffers, [state], bytes);
  }

  /**
   * The batch arrays of a step, after its tokens have been appended to their sequences. Block tables are as wide as the
   * context.
   */
  describe(entries: readonly BatchEntry[]): BatchArrays {
    return describeBatch(entries, this.maxBlocks, this);
  }

  dispose(): void {
    for (const buffer of this.buffers) buffer.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private get buffers(): readonly KvBuffer[] {
    return this.layerBuffers.flatMap((layer) => Object.values(layer));
  }

  private get kvBuffers(): readonly KvBuffer[] {
    const isKv = (i: number) => layerStateOf(this.options, i).kind === 'kv';
    return this.layerBuffers.flatMap((layer, i) => (isKv(i) ? Object.values(layer) : []));
  }

  private get stateBuffers(): readonly KvBuffer[] {
    const isState = (i: number) => layerStateOf(this.options, i).kind === 'state';
    return this.layerBuffers.flatMap((layer, i) => (isState(i) ? Object.values(layer) : []));
  }
}

async function readAll(
  buffers: readonly KvBuffer[],
  blocks: readonly number[],
  each: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(blocks.length * each);
  let at = 0;
  for (const block of blocks)
    for (const buffer of buffers) {
      const part = await buffer.readBlocks(block);
      bytes.set(part, at);
      at += part.length;
    }
  return bytes;
}

async function writeAll(
  buffers: readonly KvBuffer[],
  blocks: readonly number[],
  bytes: Uint8Array,
): Promise<void> {
  let at = 0;
  for (const block of blocks)
    for (const buffer of buffers) {
      const end = at + buffer.byteLength / buffer.shape[0]!;
      await buffer.writeBlocks(block, bytes.subarray(at, end));
      at = end;
    }
}

/** Allocates what layer i keeps. */
function layerBuffers(
  options: KvCacheOptions,
  i: number,
  { blocks, blockSize }: Pick<KvSpec, 'blocks' | 'blockSize'>,
  allocate: (spec: KvSpec) => KvBuffer,
): LayerBuffers {
  const state = layerStateOf(options, i);
  if (state.kind === 'kv') {
    const { heads, headDim } = state;
    const spec: KvSpec = { blocks, blockSize, heads, headDim, dtype: kvElements[options.dtype] };
    return { k: allocate(spec), v: allocate(spec) };
  }
  const parts = Object.entries(state.parts).map(([name, { heads, width }]) => [
    name,
    allocate({ blocks: options.states!, blockSize: 1, heads, headDim: width, dtype: 'f32' }),
  ]);
  return Object.fromEntries(parts);
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
  const { sequences, ...rest } = options;
  return KvCache.allocate(
    backends,
    { ...rest, states: rest.states ?? sequences },
    sequences,
    options.context,
  );
}
