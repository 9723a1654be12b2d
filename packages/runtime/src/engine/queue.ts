import { onAbort } from '@quern/core';
import { RuntimeError } from '../error.js';
import { giveNotice, type NoticeListener } from '../notice.js';
import type { BlockManager } from './block-manager.js';
import { aborted, type Request } from './request.js';
import type { Sequence } from './sequence.js';
import { callersBefore } from './shares.js';

export interface QueueOptions {
  readonly blockManager: BlockManager;
  /** Most callers that wait for blocks; more reject with BUSY. */
  readonly maxQueue: number;
  readonly onNotice: NoticeListener;
}

/** A longer wait gives a notice. */
const longWaitMs = 1000;
/** Longest timer of Node, in milliseconds: 24 days. */
const longestTimer = 2 ** 31 - 1;

/** Bounds the number and the time of the requests that wait for blocks. */
export class Queue {
  /** @param onEnd called when a wait has ended without blocks */
  constructor(
    private readonly options: QueueOptions,
    private readonly onEnd: () => void,
  ) {}

  /** Blocks are short, and `waiting` wait for them. A sequence that was preempted is never refused. */
  watch(waiting: readonly Request[]): void {
    const { maxQueue, blockManager } = this.options;
    const callers = callersBefore(waiting.map(({ sequence }) => sequence));
    for (const [i, request] of waiting.entries()) {
      const { sequence } = request;
      const before = callers[i]!;
      const isNew = sequence.startedAt === 0 && !request.waitsForBlocks;
      if (isNew && before >= maxQueue) request.fail(queueFull(blockManager, maxQueue));
      else if (sequence.patience === 0) request.fail(busy(blockManager, sequence, before, 0));
      else request.watch('blocks', () => this.watchOne(request, before));
    }
  }

  /** @param before number of callers that waited before this one when its wait began */
  private watchOne(request: Request, before: number): () => void {
    const { blockManager, onNotice } = this.options;
    const { sequence, wanted } = request;
    const end = (error: Error): void => {
      request.fail(error);
      this.onEnd();
    };
    const warn = (): void => {
      if (sequence.turn === 0) giveNotice(onNotice, longWait(blockManager, sequence, before));
    };
    const { patience } = sequence;
    const long = setTimeout(warn, longWaitMs);
    const giveUp = (ms: number): void => end(busy(blockManager, sequence, before, ms));
    const timeout =
      patience === undefined ? undefined : setTimeout(giveUp, Math.min(patience, longestTimer), patience);
    const removeListener = wanted.signal && onAbort(wanted.signal, () => end(aborted()));
    return () => {
      clearTimeout(long);
      clearTimeout(timeout);
      removeListener?.();
    };
  }
}

const longWait = (blockManager: BlockManager, sequence: Sequence, before: number): string =>
  `a call waits for room in the cache: ${wants(blockManager, sequence, before)}`;

const busy = (blockManager: BlockManager, sequence: Sequence, before: number, ms: number): RuntimeError =>
  new RuntimeError('BUSY', `no room in the cache within ${ms} ms: ${wants(blockManager, sequence, before)}`);

const queueFull = ({ blocks, freeBlocks }: BlockManager, waiting: number): RuntimeError =>
  new RuntimeError(
    'BUSY',
    `${waiting} ${waiting === 1 ? 'call waits' : 'calls wait'} for room in the cache already, as many as \`maxQueue\` (--max-queue) allows (${freeBlocks} of ${blocks} ` +
      'blocks are free): call again later, or load the model with more `sequences` (--sequences on the command line)',
  );

/** What the sequence waits for, how many hold the blocks, and advice. */
function wants(
  { blocks, blockSize, freeBlocks, holders }: BlockManager,
  { tokens }: Sequence,
  before: number,
): string {
  const needed = Math.ceil((tokens.length + 1) / blockSize) * blockSize;
  const held = (blocks - freeBlocks) * blockSize;
  const calls = holders.size === 1 ? '1 call holds' : `${holders.size} calls hold`;
  return (
    `it needs ${needed} tokens of context, and ${calls} ${held} of ${blocks * blockSize}` +
    `${before > 0 ? `, with ${before} more before it` : ''}. What helps: read generations to their end or leave ` +
    'their loops; more `sequences` when the model is loaded (--sequences on the command line)'
  );
}
