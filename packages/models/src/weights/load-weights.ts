import { type Backend, elementCount, type ProgressListener, type Weight } from '@quern/core';
import { type DecodeOptions, decodePoolFor, throwIfAborted } from './decode-pieces.js';
import { decodedBytes, decodedFormat, decodedSource, stackSource } from './decode-weight.js';
import { type GroupedTensor, gptqSource, isGrouped } from './gptq.js';
import { needUnchanged } from './need-unchanged.js';
import { rehearseWeights } from './rehearse-weights.js';
import { isDense, type ResolvedWeight } from './resolve-weights.js';
import { isConstant, type StoredTensor, slicesOf, storedBytes, unmapped } from './weight-file.js';

/** Callbacks and settings of loading. */
export interface LoadOptions {
  /** Called after each tensor, with the bytes of the files. */
  readonly onProgress?: ProgressListener<'weights'> | undefined;
  /** Called for costs without failure: weights decoded because the backend does not read their format. */
  readonly onNotice?: ((message: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * False: weights are read into memory; the files are not needed after loading. Default true: a backend may use 16-
   * and 32-bit weights in the mapped file; the file must then not be written or truncated while the model lives.
   */
  readonly mmap?: boolean | undefined;
}

/** The backend computes with the tensor as stored. Vectors in block formats are always decoded: they are small. */
export function readsNatively(backend: Backend, tensor: StoredTensor): boolean {
  if (isMade(tensor) || isTransposed(tensor)) return false;
  if (isGrouped(tensor)) return readsGrouped(backend, tensor);
  return isDense(tensor) || (tensor.shape.length > 1 && !!backend.quantGguf?.formats.has(tensor.format));
}

const isTransposed = (tensor: StoredTensor): boolean => 'transposed' in tensor;

/** Constants, and norms w + 1: small, so no notice reports them. */
const isMade = (tensor: StoredTensor): boolean => isConstant(tensor) || 'plus' in tensor || 'isLog' in tensor;

const readsGrouped = (backend: Backend, { quantised }: GroupedTensor): boolean =>
  !!backend.quantGptq?.bits.has(quantised.bits);

/** Bytes of a loaded tensor, without padding of the backend's layout. */
export function bytesOn(backend: Backend, tensor: StoredTensor): number {
  return readsNatively(backend, tensor) ? storedBytes(tensor) : decodedBytes(backend, tensor);
}

/** Tensors loaded concurrently: one is read while another is repacked. */
const underWay = 4;

/** Elements from which decoding threads pay: they take time to start (docs/performance.md). */
const worthThreads = 2 ** 24;

/** JavaScript decodes or rearranges the matrix. */
const isDecoded = (backend: Backend, tensor: StoredTensor): boolean =>
  !readsNatively(backend, tensor) || (isGrouped(tensor) && tensor.quantised.kind === 'awq');

/** How to decode these weights; the caller disposes the threads. @throws ModelError ABORTED. */
function decodingOf(
  backend: Backend,
  resolved: readonly ResolvedWeight[],
  { signal }: LoadOptions,
): DecodeOptions {
  const elements = resolved.reduce(
    (sum, { tensor }) => sum + (isDecoded(backend, tensor) ? elementCount(tensor.shape) : 0),
    0,
  );
  return { signal, ...(elements >= worthThreads && { pool: decodePoolFor(backend, signal) }) };
}

/**
 * Loads weights; returns them in the given order. Failure or abort disposes all loaded weights.
 * @throws ModelError ABORTED or WORKER_FAILED, FileError CHANGED, or what backend.loadWeight throws.
 */
export async function loadWeights(
  backend: Backend,
  resolved: readonly ResolvedWeight[],
  options: LoadOptions = {},
): Promise<readonly Weight[]> {
  if (backend.rehearsal)
    return rehearseWeights(backend, resolved, (tensor) => readsNatively(backend, tensor));
  noticeDecoding(backend, resolved, options);
  const decoding = decodingOf(backend, resolved, options);
  const wanted =
    options.mmap === false
      ? resolved.map((weight) => ({ ...weight, tensor: unmapped(weight.tensor) }))
      : resolved;
  const paths = new Set(resolved.flatMap(({ tensor }) => slicesOf(tensor).map(({ path }) => path)));
  try {
    const load = () => loadAll(backend, wanted, decoding, options);
    return await needUnchanged(paths, load, (loaded) => {
      for (const weight of loaded) weight.dispose();
    });
  } finally {
    await decoding.pool?.dispose();
  }
}

async function loadAll(
  backend: Backend,
  resolved: readonly ResolvedWeight[],
  decoding: DecodeOptions,
  options: LoadOptions,
): Promise<readonly Weight[]> {
  const loaded: Weight[] = [];
  const queue = resolved.entries();
  const report = progressReporter(resolved, options);
  let failed = false;
  const work = async () => {
    for (const [i, weight] of queue) {
      if (failed) return;
      throwIfAborted(options.signal);
      loaded[i] = await loadOne(backend, weight, decoding);
      report(weight.tensor);
    }
  };
  const fail = (error: unknown) => {
    failed = true;
    throw error;
  };
  const outcomes = await Promise.allSettled(Array.from({ length: underWay }, () => work().catch(fail)));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (!failure) {
    noticeWidening(backend, resolved, loaded, options);
    return loaded;
  }
  for (const weight of Object.values(loaded)) weight.dispose();
  throw failure.reason;
}

async function loadOne(
  backend: Backend,
  { tensor, uses }: ResolvedWeight,
  decoding: DecodeOptions,
): Promise<Weight> {
  if (!readsNatively(backend, tensor))
    return backend.loadWeight({ ...(await decodedSource(backend, tensor, decoding)), uses });
  if (isGrouped(tensor)) return backend.quantGptq!.loadWeight(await gptqSource(tensor, decoding));
  return backend.loadWeight({ ...('parts' in tensor ? stackSource(tensor) : tensor), uses });
}

function progressReporter(resolved: readonly ResolvedWeight[], { onProgress }: LoadOptions) {
  const total = resolved.reduce((sum, { tensor }) => sum + storedBytes(tensor), 0);
  let done = 0;
  return (tensor: StoredTensor) => {
    done += storedBytes(tensor);
    onProgress?.({ phase: 'weights', done, total });
  };
}

/** Reports decoded weights: they cost memory and speed. */
function noticeDecoding(
  backend: Backend,
  resolved: readonly ResolvedWeight[],
  { onNotice }: LoadOptions,
): void {
  const decoded = resolved
    .map(({ tensor }) => tensor)
    .filter((tensor) => !readsNatively(backend, tensor) && !isMade(tensor));
  if (decoded.length === 0) return;
  const formats = [
    ...new Set(decoded.map((tensor) => `${isTransposed(tensor) ? 'transposed ' : ''}${tensor.format}`)),
  ].join(', ');
  const targets = [...new Set(decoded.map((tensor) => decodedFormat(backend, tensor)))].join(' and ');
  const inFile = decoded.reduce((sum, tensor) => sum + storedBytes(tensor), 0);
  const inMemory = decoded.reduce((sum, tensor) => sum + bytesOn(backend, tensor), 0);
  onNotice?.(
    `backend '${backend.name}' does not read ${formats} natively: ${decoded.length} ${decoded.length === 1 ? 'tensor is' : 'tensors are'} decoded to ${targets}, ` +
      `which takes ${megabytes(inMemory)} instead of ${megabytes(inFile)}`,
  );
}

/** Reports GPTQ matrices stored as f32: the backend has no kernel for their groups or zero points. */
function noticeWidening(
  backend: Backend,
  resolved: readonly ResolvedWeight[],
  loaded: readonly Weight[],
  { onNotice }: LoadOptions,
): void {
  const widened = resolved.filter(
    ({ tensor }, i) => isGrouped(tensor) && readsGrouped(backend, tensor) && loaded[i]!.format === 'f32',
  );
  if (widened.length === 0) return;
  const inFile = widened.reduce((sum, { tensor }) => sum + storedBytes(tensor), 0);
  const inMemory = widened.reduce((sum, { tensor }) => sum + 4 * elementCount(tensor.shape), 0);
  onNotice?.(
    `backend '${backend.name}' keeps ${widened.length} ${widened.length === 1 ? 'tensor' : 'tensors'} of ${widened[0]!.tensor.format} as f32, ` +
      `which takes ${megabytes(inMemory)} instead of ${megabytes(inFile)}`,
  );
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 0)} MB`;
