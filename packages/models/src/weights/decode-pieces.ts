import { availableParallelism } from 'node:os';
import { type DeviceProfile, yieldToEventLoop } from '@quern/core';
import { type BytesJob, type DecodeJob, DecodePool, decodePiece } from '@quern/quant';
import { ModelError } from '../error.js';
import { readBytes } from './read-bytes.js';

export interface DecodeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Decoding threads. Without them this thread decodes, and yields to the event loop between two pieces. */
  readonly pool?: DecodePool | undefined;
}

/** Elements of a piece, a multiple of every block size: 1 to 2 ms on one thread. */
export const pieceElements = 2 ** 18;

/** A job and the place of its output. */
export interface Piece<Job = BytesJob> {
  readonly job: Job;
  readonly into: Uint8Array;
}

/**
 * Decodes all pieces into place; false if some piece has no such form.
 * @throws ModelError ABORTED or WORKER_FAILED; FileError READ_FAILED or TRUNCATED.
 */
export async function decodeAll(pieces: readonly Piece[], { pool, signal }: DecodeOptions): Promise<boolean> {
  if (pool) return decodeOn(pool, pieces);
  for (const { job, into } of pieces) {
    throwIfAborted(signal);
    if (!decodePiece(job.recipe, await readBytes(job.source), into)) return false;
    await yieldToEventLoop();
  }
  return true;
}

/** `decodeAll` on threads, also for rows of GPTQ matrices. Also throws BackendError BAD_WEIGHT. */
export async function decodeOn(pool: DecodePool, pieces: readonly Piece<DecodeJob>[]): Promise<boolean> {
  const decoded = await Promise.all(pieces.map(({ job, into }) => pool.decode(job, into)));
  return decoded.every(Boolean);
}

/**
 * One decoding thread per compute thread of the backend; threads start with the first job. @throws ModelError ABORTED.
 */
export const decodePoolFor = (
  { profile: { kind, threads } }: { readonly profile: Pick<DeviceProfile, 'kind' | 'threads'> },
  signal: AbortSignal | undefined,
): DecodePool =>
  new DecodePool({ threads: kind === 'gpu' ? availableParallelism() : threads, signal, aborted, lost });

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal.reason);
}

const aborted = (cause: unknown) => new ModelError('ABORTED', 'loading was aborted', { cause });

const lost = (how: string, cause?: unknown) =>
  new ModelError('WORKER_FAILED', `a thread that decodes weights ${how}`, { cause });
